"""Writes at a real kube-apiserver by verb and resource, from its own metrics.

The metrics cost nothing, unlike an audit log. They count the writes of all clients, also those of the
controller manager. Leases are left out: they cost the same whether there is work or not.
"""

import re
from typing import Final, NamedTuple

from vc.parts import ControlPlane
from vc.parts.probe import http_get

_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_COUNT: Final = "apiserver_request_duration_seconds_count"
_SUM: Final = "apiserver_request_duration_seconds_sum"
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')
_LEASES: Final = "leases"


class Sent(NamedTuple):
    """Requests of one sort."""

    requests: float
    seconds: float
    """Inside the API server, all of them together: admission and etcd included."""


Writes = dict[str, Sent]
"""By verb and resource, with its subresource: `POST pods/binding`."""


async def writes_at(plane: ControlPlane) -> Writes:
    """All writes since the API server started; none when it does not answer."""
    answer = await http_get(f"{plane.url}/metrics", token=plane.admin.token, ca=plane.files.ca)
    return writes_in(answer.body.decode())


def writes_in(text: str) -> Writes:
    """The same from a page of metrics."""
    found: Writes = {}
    for line in text.splitlines():
        if not line.startswith((_COUNT, _SUM)):
            continue
        labels, value = dict(_LABEL.findall(line)), float(line.rpartition(" ")[2])
        if labels["verb"] not in _WRITES or labels["resource"] == _LEASES:
            continue
        resource = "/".join(filter(None, (labels["resource"], labels["subresource"])))
        asked = f"{labels['verb']} {resource}"
        requests, seconds = found.get(asked, Sent(0, 0))
        counts = line.startswith(_COUNT)
        found[asked] = Sent(requests + value * counts, seconds + value * (not counts))
    return found


def between(before: Writes, after: Writes) -> Writes:
    """The writes between two moments."""
    nothing = Sent(0, 0)
    differences = {
        asked: Sent(*(new - old for new, old in zip(sent, before.get(asked, nothing), strict=True)))
        for asked, sent in after.items()
    }
    return {asked: sent for asked, sent in differences.items() if sent.requests}
