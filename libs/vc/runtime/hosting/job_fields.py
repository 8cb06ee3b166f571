"""Log fields that identify a job in the logs of all services.

A log line about a job has its key and its trace id, which is derived from the job's uid. One search
finds the lines of a job from all processes, and the trace id leads to its trace.
"""

from vc.messages.partition import vcjob_owner
from vc.messages.trace import trace_id
from vc.model.api.kinds import JOBS
from vc.model.api.meta import ApiObject, object_key


def job_fields(key: str, uid: str, **more: str | int) -> dict[str, str | int]:
    """Fields for `extra` of a log line about a vcjob."""
    return {"job": key, "trace_id": trace_id(uid), **more}


def fields_of(obj: ApiObject | None, key: str = "", **more: str | int) -> dict[str, str | int]:
    """Fields of a vcjob or of an object that a vcjob owns;
    for other objects only the group's key.
    """
    if obj is None:
        return {"group": key, **more}
    if obj.kind == JOBS.kind and obj.api_version == JOBS.api_version:
        return job_fields(obj.key, obj.metadata.uid, **more)
    owner = vcjob_owner(obj)
    if owner is None:
        return {"group": obj.key, **more}
    return job_fields(object_key(obj.metadata.namespace, owner.name), owner.uid, **more)
