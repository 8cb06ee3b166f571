"""TLS as a kubeconfig asks for it; apart, because importing ssl costs and plain HTTP needs none."""

import ssl
import tempfile
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

from vc_cli.ctl.errors import NoClusterError
from vc_cli.ctl.kubeconfig import Access


def https_connection(host: str, port: int, *, access: Access, seconds: float) -> HTTPSConnection:
    """A connection that trusts and shows what the kubeconfig says."""
    try:
        context = ssl.create_default_context(cadata=access.ca_pem or None)
        if not access.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if access.cert_pem:
            _load_identity(context, access)
    except (ssl.SSLError, ValueError) as error:
        raise NoClusterError(f"kubeconfig: a certificate or key cannot be used: {error}") from None
    if access.tls_server_name:
        return _NamedConnection(host, port, seconds, context, name=access.tls_server_name)
    return HTTPSConnection(host, port, timeout=seconds, context=context)


class _NamedConnection(HTTPSConnection):
    """Asks for, and checks, the certificate of `name` whatever host is connected to."""

    def __init__(
        self, host: str, port: int, seconds: float, context: ssl.SSLContext, *, name: str
    ) -> None:
        super().__init__(host, port, timeout=seconds, context=context)
        self._names = context
        self._name = name

    def connect(self) -> None:
        """As http.client does, but for the name."""
        HTTPConnection.connect(self)
        self.sock = self._names.wrap_socket(self.sock, server_hostname=self._name)


def _load_identity(context: ssl.SSLContext, access: Access) -> None:
    """OpenSSL reads a key from a file only: one for its owner alone, gone at once."""
    with tempfile.TemporaryDirectory(prefix="vcctl-") as folder:
        file = Path(folder) / "identity.pem"
        file.touch(mode=0o600)
        file.write_text(f"{access.cert_pem}\n{access.key_pem}\n", encoding="ascii")
        context.load_cert_chain(file)
