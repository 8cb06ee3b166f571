"""Who may talk to a test cluster, and the kubeconfig files that let them."""

import base64
import csv
import io
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from vc_parts.certificates import write_private

CONTEXT = "pyroclast"
ADMIN_GROUP = "system:masters"
TOKEN_BYTES = 24


@dataclass(frozen=True, kw_only=True)
class User:
    """A name for RBAC and the token that proves it; give a service account's full name to act as one."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES), repr=False)


def admin() -> User:
    """May do everything, past RBAC."""
    return User(name="admin", groups=(ADMIN_GROUP,))


def token_file(users: Sequence[User]) -> str:
    """kube-apiserver's --token-auth-file: token, user, uid, "group,group"."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for user in users:
        rows.writerow([user.token, user.name, user.name, ",".join(user.groups)])
    return text.getvalue()


def kubeconfig(url: str, *, ca: bytes, user: User, namespace: str = "default") -> str:
    """The authority is inside, so that the file can be copied anywhere."""
    authority = base64.b64encode(ca).decode()
    context = {"cluster": CONTEXT, "user": user.name, "namespace": namespace}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": CONTEXT,
                "cluster": {"server": url, "certificate-authority-data": authority},
            }
        ],
        "users": [{"name": user.name, "user": {"token": user.token}}],
        "contexts": [{"name": CONTEXT, "context": context}],
        "current-context": CONTEXT,
    }
    return yaml.safe_dump(document, sort_keys=False)


def write_kubeconfig(path: Path, url: str, *, ca: bytes, user: User) -> Path:
    """Readable by the owner only: it carries a token."""
    write_private(path, kubeconfig(url, ca=ca, user=user).encode())
    return path
