"""The link to a trace: `--trace-ui`, $JAEGER_QUERY_URL, or an address stored in the cluster.

The cluster has the address in the ConfigMap `pyroclast-addresses` of our namespace, so that an
administrator sets it once for all users. Our namespace is that of the dashboard's service if one is
named, else volcano-system, else that of the service with our chart's labels. Without permission or
address the trace's id is still shown. An address with `{trace_id}` is used as a template, for
viewers other than Jaeger.
"""

import os
from typing import Final

from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.dashboard import USUAL, Place, labelled
from vc.cli.vcctl.api.errors import HTTP_NOT_FOUND, ApiError
from vc.cli.vcctl.api.resources import CONFIGMAPS

VARIABLE: Final = "JAEGER_QUERY_URL"
ADDRESSES: Final = "pyroclast-addresses"
ADDRESS_KEY: Final = "trace-ui"
PLACE: Final = "{trace_id}"


def trace_id(job_uid: str) -> str:
    """The trace id, derived as in `vc.messages.trace`.

    Importing that module would load all models. A test keeps both consistent.
    """
    from hashlib import sha256

    return sha256(f"trace/{job_uid}".encode()).hexdigest()[:32]


def link_of(trace: str, client: Client, *, given: str = "", place: Place | None = None) -> str:
    """The link. Empty if no address is known."""
    address = given or os.environ.get(VARIABLE, "") or _said_by(client, place)
    if not address:
        return ""
    if PLACE in address:
        return address.replace(PLACE, trace)
    return f"{address.rstrip('/')}/trace/{trace}"


def _said_by(client: Client, place: Place | None) -> str:
    """The address in the ConfigMap. A release in another namespace is searched once."""
    try:
        return _read(client, (place or USUAL).namespace)
    except ApiError as error:
        if place is not None or error.code != HTTP_NOT_FOUND:
            return ""
    # With several releases it is unknown which one the job belongs to.
    elsewhere = [found for found in labelled(client) if found.namespace != USUAL.namespace]
    try:
        return _read(client, elsewhere[0].namespace) if len(elsewhere) == 1 else ""
    except ApiError:
        return ""


def _read(client: Client, namespace: str) -> str:
    found = client.get(CONFIGMAPS, ADDRESSES, namespace=namespace)
    return str((found.get("data") or {}).get(ADDRESS_KEY, ""))
