"""Whose an object is: what a plugin makes for a job is controlled by that job, of that uid."""

from vc_jobplugin.answers import Found
from vc_messages.effects import CreateObject, DeleteObject
from vc_model.job import Job
from vc_model.kinds import JOBS, Kind
from vc_model.meta import group_of_version
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
    return any(
        owner.get("controller")
        and owner.get("uid") == job.metadata.uid
        and owner.get("kind") == JOBS.kind
        and group_of_version(str(owner.get("apiVersion", ""))) == JOBS.group
        for owner in owners
    )


def create_owned(job: Job, kind: Kind, name: str, *, content: JsonObject) -> CreateObject:
    """Make an object of the job's namespace that goes when the job does."""
    return CreateObject(
        kind=kind,
        namespace=job.metadata.namespace,
        name=name,
        owner_uid=job.metadata.uid,
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
    """Take away, of the objects found, those that this very job controls."""
    return tuple(
        DeleteObject(
            kind=reference.kind,
            namespace=reference.namespace,
            name=reference.name,
            uid=body["metadata"]["uid"],
            resource_version=body["metadata"].get("resourceVersion", ""),
        )
        for reference, body in found.items()
        if is_of(job, body)
    )
