"""TLS connections by kubeconfig.

A separate module, because importing ssl is slow and plain HTTP does not need it.
"""

import ssl
import tempfile
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

from vc.cli.vcctl.api.errors import NoClusterError
from vc.kubeconfig.access import Access


def https_connection(host: str, port: int, *, access: Access, seconds: float) -> HTTPSConnection:
    """A connection with the authorities and the client certificate of the kubeconfig."""
    try:
        context = ssl.create_default_context(cadata=access.ca_pem or None)
        if not access.verify:
            # In this order: ssl rejects CERT_NONE while host names are still checked.
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        # Optional: the user may have a token instead of a client certificate.
        if access.cert_pem:
            _load_identity(context, access)
    except (ssl.SSLError, ValueError) as error:
        raise NoClusterError(f"kubeconfig: a certificate or key cannot be used: {error}") from None
    if access.tls_server_name:
        return _NamedConnection(host, port, seconds, context, name=access.tls_server_name)
    return HTTPSConnection(host, port, timeout=seconds, context=context)


class _NamedConnection(HTTPSConnection):
    """Requests and checks the certificate of `name`, whatever the host is."""

    def __init__(
        self, host: str, port: int, seconds: float, context: ssl.SSLContext, *, name: str
    ) -> None:
        super().__init__(host, port, timeout=seconds, context=context)
        self._names = context
        self._name = name

    def connect(self) -> None:
        """Connect as in http.client, but with the given server name."""
        # HTTPSConnection.connect would use the host as the server name.
        HTTPConnection.connect(self)
        self.sock = self._names.wrap_socket(self.sock, server_hostname=self._name)


def _load_identity(context: ssl.SSLContext, access: Access) -> None:
    """Load the client certificate.

    OpenSSL reads keys only from files, so a file readable for the owner only is written and removed
    at once.
    """
    with tempfile.TemporaryDirectory(prefix="vcctl-") as folder:
        file = Path(folder) / "identity.pem"
        file.touch(mode=0o600)
        file.write_text(f"{access.cert_pem}\n{access.key_pem}\n", encoding="ascii")
        context.load_cert_chain(file)
