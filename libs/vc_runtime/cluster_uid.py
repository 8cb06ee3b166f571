"""Which cluster this is: the uid of its namespace `kube-system`."""

from typing import Final

from vc_cluster import ForbiddenError
from vc_model.kinds import NAMESPACES
from vc_runtime.context import Context

NAMED_BY: Final = "kube-system"


async def read_cluster_uid(context: Context) -> str:
    """The uid; empty, with a warning, when our account may not read it. ClusterError when nobody answers."""
    try:
        found = await context.cluster.get(NAMESPACES, name=NAMED_BY)
    except ForbiddenError as error:
        context.log.warning(
            "topics of another cluster cannot be told from ours: allow get of namespace %s: %s",
            NAMED_BY,
            error,
        )
        return ""
    return str(found["metadata"]["uid"])
