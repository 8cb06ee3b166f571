"""Keeping certificates: shared through a Secret, renewed in time, trusted by the API server.

All replicas use one Secret. The first replica creates it, and the first that notices renews it. A
lost race leads to another read, because the write carries the resourceVersion it was based on.
Configured files are used as they are and read again when they change. `registration.py` writes the
authority into the webhook configurations.
"""

import base64
import binascii
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from vc.admission.authority import Certificates, make_certificates, renewed
from vc.admission.config import Config
from vc.cluster import AlreadyExistsError, ConflictError, NotFoundError, Preconditions
from vc.model.api.kinds import SECRETS
from vc.model.api.struct import JsonObject
from vc.runtime.hosting.context import Context

CHECK_SECONDS: Final = 60.0
"""How often the Secret or the files are read."""

RACES_MAX: Final = 10
"""Lost races in a row before the service is restarted."""

_CA, _CA_KEY, _CERTIFICATE, _KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"


class CertificateKeeper:
    """The certificates of this replica, and the TLS context that serves with them."""

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self._config = config
        self._current: Certificates | None = None
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        """New connections use the certificate that was loaded last."""
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_2

    async def refresh(self) -> bytes:
        """Read the certificates, renew them if needed, and load them.
        Returns the authorities to trust."""
        found = self._from_files() if self._config.certificate_file else await self._from_secret()
        # Loading is skipped without a change, so that the log shows only real renewals.
        if found != self._current:
            _load(self.tls, found)
            self._current = found
            self._context.log.info("certificate loaded")
        return found.ca_bundle

    def _from_files(self) -> Certificates:
        certificate = Path(self._config.certificate_file).read_bytes()
        ca_file = self._config.ca_file
        return Certificates(
            ca_bundle=Path(ca_file).read_bytes() if ca_file else certificate,
            ca_key=b"",
            certificate=certificate,
            key=Path(self._config.key_file).read_bytes(),
        )

    async def _from_secret(self) -> Certificates:
        hosts = self.hosts()
        for _ in range(RACES_MAX):
            try:
                return await self._read_or_make(hosts)
            except (AlreadyExistsError, ConflictError, NotFoundError):
                continue  # another replica was faster: read its certificates
        raise RuntimeError(f"Secret {self._config.secret_name} changed {RACES_MAX} times under us")

    async def _read_or_make(self, hosts: Sequence[str]) -> Certificates:
        cluster, now = self._context.cluster, self._context.clock.now()
        name, namespace = self._config.secret_name, self._context.namespace
        try:
            secret = await cluster.get(SECRETS, name=name, namespace=namespace)
        except NotFoundError:
            made = make_certificates(hosts, now=now)
            await cluster.create(SECRETS, _secret(name, namespace, made), namespace=namespace)
            return made
        current = _certificates_of(secret)
        following = renewed(current, hosts, now=now)
        if following is None:
            return current
        metadata = secret["metadata"]
        # Two replicas may renew at once. The precondition makes one fail, which then reads again.
        await cluster.patch(
            SECRETS,
            {"data": _data(following)},
            name=name,
            namespace=namespace,
            preconditions=Preconditions(
                uid=metadata["uid"], resource_version=metadata["resourceVersion"]
            ),
        )
        return following

    def hosts(self) -> list[str]:
        """Every name and address by which this service may be called."""
        service, namespace = self._config.service_name, self._context.namespace
        names = [
            f"{service}.{namespace}.svc",
            f"{service}.{namespace}.svc.cluster.local",
            "localhost",
            "127.0.0.1",
        ]
        # A wildcard address is no host name that a client could verify.
        for host in (self._config.host, urlsplit(self._config.url).hostname or ""):
            if host not in ("", "0.0.0.0", "::", *names):  # noqa: S104 - compared only
                names.append(host)
        return names


def _load(tls: ssl.SSLContext, certificates: Certificates) -> None:
    """Load certificates through a temporary file, because the ssl module reads only files."""
    # The key is on disk only for the time of the load, readable only by this process.
    with tempfile.TemporaryDirectory(prefix="admission-") as folder:
        path = Path(folder, "tls.pem")
        path.touch(mode=0o600)
        path.write_bytes(certificates.key + b"\n" + certificates.certificate)
        tls.load_cert_chain(path)


def _secret(name: str, namespace: str, certificates: Certificates) -> JsonObject:
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "type": "Opaque",
        "metadata": {"name": name, "namespace": namespace},
        "data": _data(certificates),
    }


def _data(certificates: Certificates) -> dict[str, str]:
    return {
        key: base64.b64encode(value).decode()
        for key, value in (
            (_CA, certificates.ca_bundle),
            (_CA_KEY, certificates.ca_key),
            (_CERTIFICATE, certificates.certificate),
            (_KEY, certificates.key),
        )
    }


def _certificates_of(secret: JsonObject) -> Certificates:
    """The certificates of the Secret. Damaged parts read as empty and are renewed."""
    data = secret.get("data") or {}

    def part(key: str) -> bytes:
        try:
            return base64.b64decode(data.get(key, ""), validate=True)
        except (binascii.Error, ValueError, TypeError):
            return b""

    return Certificates(
        ca_bundle=part(_CA), ca_key=part(_CA_KEY), certificate=part(_CERTIFICATE), key=part(_KEY)
    )
