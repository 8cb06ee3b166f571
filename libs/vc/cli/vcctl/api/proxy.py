"""Connections through the HTTP proxy of the kubeconfig's `proxy-url`, by a CONNECT tunnel.

Other proxies (SOCKS, or HTTP proxies over TLS) are rejected with an error. Bypassing a configured
proxy would be worse than failing.
"""

from base64 import b64encode
from http.client import HTTPConnection
from urllib.parse import SplitResult, unquote, urlsplit

from vc.cli.vcctl.api.errors import NoClusterError
from vc.kubeconfig.access import Access

_USUAL_PORTS = {"http": 80, "https": 443}


def proxied_connection(server: SplitResult, *, access: Access, seconds: float) -> HTTPConnection:
    """A connection to the server through the proxy.

    The proxy sees no credentials of the cluster.
    """
    proxy = _checked(access.proxy_url)
    host, port = proxy.hostname or "", proxy.port or _USUAL_PORTS["http"]
    if server.scheme == "https":
        from vc.cli.vcctl.api.tls import https_connection

        connection: HTTPConnection = https_connection(host, port, access=access, seconds=seconds)
    else:
        connection = HTTPConnection(host, port, timeout=seconds)
    headers = {}
    if proxy.username:
        # Quoted in the URL, because a password may contain `@` or `:`.
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(user.encode()).decode()}"
    port = server.port or _USUAL_PORTS[server.scheme]
    # The tunnel ends at the server, so TLS and credentials are not visible to the proxy.
    connection.set_tunnel(server.hostname or "", port, headers=headers)
    return connection


def _checked(url: str) -> SplitResult:
    try:
        proxy = urlsplit(url)
        is_known = proxy.scheme == "http" and bool(proxy.hostname) and proxy.port != 0
    except ValueError:
        is_known = False
    if not is_known:
        scheme = url.partition(":")[0]
        raise NoClusterError(
            f"kubeconfig: vcctl does not know how to use a {scheme!r} proxy-url; "
            "write one like http://host:3128"
        )
    return proxy
