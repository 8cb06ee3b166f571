"""Where a trace can be looked at: `--trace-ui`, $JAEGER_QUERY_URL, or what the cluster says.

The cluster says it in the ConfigMap `pyroclast-addresses` of our namespace, so that whoever runs the
collector writes its address down once for everybody. Who may not read that, or finds none, still has
the trace's id. An address with `{trace_id}` in it is used as it is, for other viewers than Jaeger.
"""

import os
from typing import Final

from vc_cli.ctl.client import Client
from vc_cli.ctl.errors import ApiError
from vc_cli.ctl.resources import CONFIGMAPS, SYSTEM_NAMESPACE

VARIABLE: Final = "JAEGER_QUERY_URL"
ADDRESSES: Final = "pyroclast-addresses"
ADDRESS_KEY: Final = "trace-ui"
PLACE: Final = "{trace_id}"


def link_of(trace: str, client: Client, *, given: str = "") -> str:
    """The link; empty when nobody says where."""
    address = given or os.environ.get(VARIABLE, "") or _said_by(client)
    if not address:
        return ""
    if PLACE in address:
        return address.replace(PLACE, trace)
    return f"{address.rstrip('/')}/trace/{trace}"


def _said_by(client: Client) -> str:
    try:
        found = client.get(CONFIGMAPS, ADDRESSES, namespace=SYSTEM_NAMESPACE)
    except ApiError:
        return ""
    return str((found.get("data") or {}).get(ADDRESS_KEY, ""))
