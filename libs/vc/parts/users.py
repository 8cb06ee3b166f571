"""Users of a test cluster, as kube-apiserver reads them from its token file."""

import csv
import io
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

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
