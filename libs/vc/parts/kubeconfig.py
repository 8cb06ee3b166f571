"""Users of a test cluster and their kubeconfig files."""

import base64
import csv
import io
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from vc.parts.certificates import write_private

CONTEXT = "pyroclast"
ADMIN_GROUP = "system:masters"
TOKEN_BYTES = 24


@dataclass(frozen=True, kw_only=True)
class User:
    """A user name for RBAC and its token.

    The full name of a service account acts as that account.
    """

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES), repr=False)


def admin() -> User:
    """A user with all permissions, without RBAC checks."""
    return User(name="admin", groups=(ADMIN_GROUP,))


def token_file(users: Sequence[User]) -> str:
    """The content of kube-apiserver's --token-auth-file: token, user, uid, "group,group"."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for user in users:
        # The uid column is required; the name serves as uid.
        rows.writerow([user.token, user.name, user.name, ",".join(user.groups)])
    return text.getvalue()


def kubeconfig(url: str, *, ca: bytes, user: User, namespace: str = "default") -> str:
    """A kubeconfig that includes the certificate authority, so that the file can be copied."""
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
    """Write a kubeconfig, readable for its owner only, because it contains a token."""
    write_private(path, kubeconfig(url, ca=ca, user=user).encode())
    return path
