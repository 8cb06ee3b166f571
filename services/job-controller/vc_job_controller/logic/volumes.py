"""The job's volumes: claims that are made once, and mounted in every container.

Names are derived from the job's uid and the mount path, so that making a claim again finds the one
that is there, and nothing has to be written back into the job's spec (upstream draws random names
and writes them there).
"""

import hashlib
from typing import Final

from vc_job_controller.logic.podgroup import owner_reference
from vc_messages.effects import CreateObject
from vc_model.job import Job, VolumeSpec
from vc_model.kinds import CLAIMS, JOBS
from vc_model.struct import JsonObject

NOTE_PREFIX: Final = "volume-pvc-"
_DIGITS: Final = 12


def claim_name(job: Job, volume: VolumeSpec) -> str:
    """The user's claim, or the one we make."""
    return volume.volume_claim_name or f"{job.metadata.name}-pvc-{_digest(job, volume.mount_path)}"


def claim_effects(job: Job) -> list[CreateObject]:
    """Claims the job brings itself; one that is there and ours is as good as made."""
    return [
        CreateObject(
            kind=CLAIMS,
            namespace=job.metadata.namespace,
            name=claim_name(job, volume),
            owner_uid=job.metadata.uid,
            owner_kind=JOBS,
            body={
                "apiVersion": CLAIMS.api_version,
                "kind": CLAIMS.kind,
                "metadata": {
                    "name": claim_name(job, volume),
                    "namespace": job.metadata.namespace,
                    "ownerReferences": [owner_reference(job)],
                },
                "spec": volume.volume_claim,
            },
        )
        for volume in job.spec.volumes
        if volume.volume_claim is not None and not volume.volume_claim_name
    ]


def named_claims(job: Job) -> list[str]:
    """Keys of the claims that somebody else has to make."""
    names = {volume.volume_claim_name for volume in job.spec.volumes if volume.volume_claim_name}
    return [f"{job.metadata.namespace}/{name}" for name in sorted(names)]


def claim_notes(job: Job) -> dict[str, str]:
    """As `status.controlledResources` shows them."""
    names = sorted(claim_name(job, volume) for volume in job.spec.volumes)
    return {NOTE_PREFIX + name: name for name in names}


def mount_volumes(job: Job, spec: JsonObject) -> None:
    """One volume per claim, mounted in every main container."""
    mounted: set[str] = set()
    for volume in job.spec.volumes:
        claim = claim_name(job, volume)
        if claim in mounted:
            continue
        mounted.add(claim)
        name = f"{job.metadata.name}-{_digest(job, claim)}"
        spec.setdefault("volumes", []).append(
            {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        )
        for container in spec.get("containers", []):
            container.setdefault("volumeMounts", []).append(
                {"name": name, "mountPath": volume.mount_path}
            )


def _digest(job: Job, text: str) -> str:
    return hashlib.sha256(f"{job.metadata.uid}/{text}".encode()).hexdigest()[:_DIGITS]
