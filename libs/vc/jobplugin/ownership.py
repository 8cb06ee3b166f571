"""Ownership: objects that a plugin creates for a job are controlled by that job, by uid."""

from vc.jobplugin.answers import Found
from vc.jobs.ownership import owner_reference
from vc.messages.effects import CreateObject, DeleteObject
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS, Kind
from vc.model.api.meta import group_of_version
from vc.model.api.struct import JsonObject


def is_of(job: Job, body: JsonObject | None) -> bool:
    """Whether an object exists and this job (by uid) controls it."""
    owners = (body or {}).get("metadata", {}).get("ownerReferences") or []
    return any(
        owner.get("controller")
        # Uid, kind and group: any user can write a reference with only a part of them.
        and owner.get("uid") == job.metadata.uid
        and owner.get("kind") == JOBS.kind
        and group_of_version(str(owner.get("apiVersion", ""))) == JOBS.group
        for owner in owners
    )


def create_owned(job: Job, kind: Kind, name: str, *, content: JsonObject) -> CreateObject:
    """Create an object in the job's namespace that is garbage-collected with the job."""
    return CreateObject(
        kind=kind,
        namespace=job.metadata.namespace,
        name=name,
        owner_uid=job.metadata.uid,
        # Permits the removal of what an older job of this name left (docs/protocol.md 12).
        owner_kind=JOBS,
        body={
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {
                "name": name,
                "namespace": job.metadata.namespace,
                "ownerReferences": [owner_reference(job)],
            },
            **content,
        },
    )


def delete_owned(job: Job, found: Found) -> tuple[DeleteObject, ...]:
    """Delete those of the found objects that this job (by uid) controls."""
    return tuple(
        DeleteObject(
            kind=reference.kind,
            namespace=reference.namespace,
            name=reference.name,
            uid=body["metadata"]["uid"],
            # The version protects an object that was changed after it was read.
            resource_version=body["metadata"].get("resourceVersion", ""),
        )
        for reference, body in found.items()
        if is_of(job, body)
    )
