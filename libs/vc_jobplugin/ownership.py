"""Whose an object is: what a plugin makes for a job is controlled by that job, of that uid."""

from vc_model.job import Job
from vc_model.kinds import JOBS
from vc_model.struct import JsonObject


def owner_reference(job: Job) -> JsonObject:
    """The job as controller of what is made for it."""
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_of(job: Job, body: JsonObject | None) -> bool:
    """Whether an object is there and this very job controls it."""
    owners = (body or {}).get("metadata", {}).get("ownerReferences") or []
    return any(o.get("controller") and o.get("uid") == job.metadata.uid for o in owners)
