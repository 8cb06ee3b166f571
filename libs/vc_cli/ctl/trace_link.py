"""Where a trace can be looked at: `--trace-ui`, $JAEGER_QUERY_URL, or what the cluster says.

The cluster says it in the ConfigMap `pyroclast-addresses` of our namespace, so that whoever runs the
collector writes its address down once for everybody. Our namespace is that of the dashboard's service
where one is named, else volcano-system, else the one of the service that carries our chart's labels. Who
may not read that, or finds none, still has the trace's id. An address with `{trace_id}` in it is used as
it is, for other viewers than Jaeger.
"""

import os
from typing import Final

from vc_cli.ctl.client import Client
from vc_cli.ctl.dashboard import USUAL, Place, labelled
from vc_cli.ctl.errors import HTTP_NOT_FOUND, ApiError
from vc_cli.ctl.resources import CONFIGMAPS

VARIABLE: Final = "JAEGER_QUERY_URL"
ADDRESSES: Final = "pyroclast-addresses"
ADDRESS_KEY: Final = "trace-ui"
PLACE: Final = "{trace_id}"


def trace_id(job_uid: str) -> str:
    """As `vc_messages.trace` derives it; importing that brings all models. A test keeps the two alike."""
    from hashlib import sha256

    return sha256(f"trace/{job_uid}".encode()).hexdigest()[:32]


def link_of(trace: str, client: Client, *, given: str = "", place: Place | None = None) -> str:
    """The link; empty when nobody says where."""
    address = given or os.environ.get(VARIABLE, "") or _said_by(client, place)
    if not address:
        return ""
    if PLACE in address:
        return address.replace(PLACE, trace)
    return f"{address.rstrip('/')}/trace/{trace}"


def _said_by(client: Client, place: Place | None) -> str:
    """What the ConfigMap says; a release that has another namespace is looked for once."""
    try:
        return _read(client, (place or USUAL).namespace)
    except ApiError as error:
        if place is not None or error.code != HTTP_NOT_FOUND:
            return ""
    elsewhere = [found for found in labelled(client) if found.namespace != USUAL.namespace]
    try:
        return _read(client, elsewhere[0].namespace) if len(elsewhere) == 1 else ""
    except ApiError:
        return ""


def _read(client: Client, namespace: str) -> str:
    found = client.get(CONFIGMAPS, ADDRESSES, namespace=namespace)
    return str((found.get("data") or {}).get(ADDRESS_KEY, ""))
