"""The identity of the cluster: the uid of its namespace `kube-system`."""

from typing import Final

from vc.cluster import ForbiddenError
from vc.model.api.kinds import NAMESPACES
from vc.runtime.hosting.context import Context

NAMED_BY: Final = "kube-system"


async def read_cluster_uid(context: Context) -> str:
    """Returns the uid, or an empty string with a warning if our account may not read it. Raises
    ClusterError if the API server does not answer.
    """
    try:
        found = await context.cluster.get(NAMESPACES, name=NAMED_BY)
    except ForbiddenError as error:
        context.log.warning(
            "cluster uid unknown, topics of another cluster are not detected: allow get namespace=%s error=%s",
            NAMED_BY,
            error,
        )
        # Without the uid foreign topics cannot be detected, but the service can still work.
        return ""
    return str(found["metadata"]["uid"])
