"""Ownership: every object that is created for a job is controlled by that job, by uid.

The garbage collector of Kubernetes deletes such objects together with the job.
"""

from vc.model.api.job import Job
from vc.model.api.kinds import JOBS
from vc.model.api.struct import JsonObject


def owner_reference(job: Job) -> JsonObject:
    """Owner reference with the job as controller."""
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        # A foreground deletion of the job waits until this object is gone.
        "blockOwnerDeletion": True,
    }
