"""Which requests are answered at all: by the name they were sent to, and by where they come from.

A page of another site can make a browser send requests here. If its own name leads to our address (DNS
rebinding), the browser would even let it read the answers, so names are answered that are known: loopback,
addresses (they need no DNS), and those that were configured. Whatever is no plain GET must be JSON, which
a foreign page cannot send without asking first, and must not come from another origin. A request with
a token is nobody else's: no page knows it, so it may come by any name, such as that of the API server
whose service proxy passed it on.
"""

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

LOOPBACK_NAMES: Final = frozenset({"localhost", "ip6-localhost"})
PLAIN_METHODS: Final = frozenset({"GET", "HEAD"})
OWN_SITES: Final = frozenset({"same-origin", "none"})
"""Of `Sec-Fetch-Site`: our own page, or typed by the user."""
JSON: Final = "application/json"
SHOWN_MAX: Final = 100


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: int
    sentence: str


def refusal(
    method: str, headers: Mapping[str, str], *, hosts: Collection[str], has_token: bool
) -> Refusal | None:
    """None when it may be answered."""
    host = headers.get("Host", "")
    if not has_token and not is_known_host(host, hosts):
        return Refusal(
            421,
            f"this dashboard is not known as {host[:SHOWN_MAX]!r}: use localhost, an address or one of "
            f"{', '.join(sorted(hosts)) or '(none)'}, or add the name to DASHBOARD_HOSTS "
            "(dashboard.hosts in the chart)",
        )
    if method in PLAIN_METHODS:
        return None
    site, origin = headers.get("Sec-Fetch-Site", ""), headers.get("Origin", "")
    if (site and site not in OWN_SITES) or (origin and not _same_origin(origin, host)):
        return Refusal(
            403, f"questions of other origins are not answered ({(origin or site)[:SHOWN_MAX]!r})"
        )
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        return Refusal(415, f"a question is sent as {JSON}, not as {kind[:SHOWN_MAX]!r}")
    return None


def is_known_host(host: str, hosts: Collection[str]) -> bool:
    """Whether a `Host` header names us."""
    name = host_name(host)
    if not name:
        return False
    return name in LOOPBACK_NAMES or name in hosts or _is_address(name)


def host_name(host: str) -> str:
    """Without the port, in lower case and without a final dot; empty when it cannot be read."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
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
