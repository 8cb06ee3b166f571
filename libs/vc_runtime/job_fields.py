"""The fields by which a job is followed through the logs of all services.

A line about a job carries its key and its trace id, which is derived from its uid: the lines of one
job, from whichever process, are found by one search, and lead to its trace and back.
"""

from vc_messages.partition import vcjob_owner
from vc_messages.trace import trace_id
from vc_model.kinds import JOBS
from vc_model.meta import ApiObject, object_key


def job_fields(key: str, uid: str, **more: str | int) -> dict[str, str | int]:
    """For `extra` of a log line about a vcjob."""
    return {"job": key, "trace_id": trace_id(uid), **more}


def fields_of(obj: ApiObject | None, key: str = "", **more: str | int) -> dict[str, str | int]:
    """Of a vcjob or of what a vcjob owns; of anything else only what it is called."""
    if obj is None:
        return {"group": key, **more}
    if obj.kind == JOBS.kind and obj.api_version == JOBS.api_version:
        return job_fields(obj.key, obj.metadata.uid, **more)
    owner = vcjob_owner(obj)
    if owner is None:
        return {"group": obj.key, **more}
    return job_fields(object_key(obj.metadata.namespace, owner.name), owner.uid, **more)
