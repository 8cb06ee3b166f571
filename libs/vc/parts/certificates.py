"""The certificates of one test cluster: created for each, and deleted with its folder."""

import datetime as dt
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import serialization

from vc.certificates import KeyPair, make_authority, make_key, private_pem

VALID_DAYS: Final = 365


class Authority:
    """Signs server certificates. Clients trust its own certificate."""

    def __init__(self, name: str = "pyroclast-parts") -> None:
        self._authority = make_authority(name, now=_now(), days=VALID_DAYS)
        self.key_pair = self._authority.key_pair

    def issue_server(self, name: str, *, hosts: tuple[str, ...]) -> KeyPair:
        """A certificate for a server with these names or addresses."""
        return self._authority.issue(name, hosts, now=_now(), days=VALID_DAYS)


def issue_signing_key() -> tuple[bytes, bytes]:
    """A private and a public PEM key. kube-apiserver signs service account tokens with them."""
    key = make_key()
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private_pem(key), public


def write_pair(pair: KeyPair, folder: Path, name: str) -> tuple[Path, Path]:
    """Write `<name>.crt` and `<name>.key`. The key is readable for its owner only."""
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    certificate.write_bytes(pair.certificate)
    write_private(key, pair.key)
    return certificate, key


def write_private(path: Path, content: bytes) -> None:
    """Write a file that is readable for its owner only, at any time."""
    # touch() keeps the mode of an existing file, so it is also set explicitly.
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_bytes(content)


def _now() -> float:
    return dt.datetime.now(dt.UTC).timestamp()
