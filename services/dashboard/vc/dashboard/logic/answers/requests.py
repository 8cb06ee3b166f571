"""Which requests are answered at all, by their Host header and their origin.

A page of another site can make a browser send requests here. If its name resolves to our
address (DNS rebinding), the browser would even let it read the answers. So only known host
names are answered: loopback, IP addresses (they need no DNS), and configured names. Any
request other than a plain GET must be JSON, which a foreign page cannot send without a CORS
preflight, and must not come from another origin. A request with a token cannot come from a
foreign page, because no page knows the token. It may use any host name, such as that of the
API server whose service proxy forwarded it.
"""

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

LOOPBACK_NAMES: Final = frozenset({"localhost", "ip6-localhost"})
PLAIN_METHODS: Final = frozenset({"GET", "HEAD"})
OWN_SITES: Final = frozenset({"same-origin", "none"})
"""Values of `Sec-Fetch-Site`: our own page, or typed by the user."""
JSON: Final = "application/json"
SHOWN_MAX: Final = 100


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: int
    sentence: str


def refusal(
    method: str, headers: Mapping[str, str], *, hosts: Collection[str], has_token: bool
) -> Refusal | None:
    """Why the request is not answered, or None if it is."""
    host = headers.get("Host", "")
    # A page of another site cannot know a token, so its host name does not matter.
    if not has_token and not is_known_host(host, hosts):
        return Refusal(
            421,
            f"this dashboard is not known as {host[:SHOWN_MAX]!r}: use localhost, an address or one of "
            f"{', '.join(sorted(hosts)) or '(none)'}, or add the name to DASHBOARD_HOSTS "
            "(dashboard.hosts in the chart)",
        )
    # GET changes nothing, and its answer is readable only for a known host name.
    if method in PLAIN_METHODS:
        return None
    site, origin = headers.get("Sec-Fetch-Site", ""), headers.get("Origin", "")
    # Browsers send one of these headers with every cross-site request.
    if (site and site not in OWN_SITES) or (origin and not _same_origin(origin, host)):
        return Refusal(
            403, f"questions of other origins are not answered ({(origin or site)[:SHOWN_MAX]!r})"
        )
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    # A form of a foreign page can send other content types without a preflight.
    if kind != JSON:
        return Refusal(415, f"a request is sent as {JSON}, not as {kind[:SHOWN_MAX]!r}")
    return None


def is_known_host(host: str, hosts: Collection[str]) -> bool:
    """Whether a `Host` header names this service."""
    name = host_name(host)
    if not name:
        return False
    return name in LOOPBACK_NAMES or name in hosts or _is_address(name)


def host_name(host: str) -> str:
    """The host without port, in lower case and without a final dot, or empty if it is invalid."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    # Such a header is not the form that clients send, and must not match a name.
    if parts.path or parts.query or parts.fragment or "@" in host:
        return ""
    return (parts.hostname or "").rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _same_origin(origin: str, host: str) -> bool:
    return origin.partition("://")[2].lower() == host.lower()
