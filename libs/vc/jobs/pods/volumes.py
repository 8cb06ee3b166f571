"""The volumes of a job: claims that are created once and mounted in every container.

Names are derived from the job's uid and the mount path. Creating a claim again finds the
existing one, and nothing has to be written back to the spec of the job. Upstream draws
random names and writes them there.
"""

import hashlib
from typing import Final

from vc.jobs.ownership import owner_reference
from vc.messages.effects import CreateObject
from vc.model.api.job import Job, VolumeSpec
from vc.model.api.kinds import CLAIMS, JOBS
from vc.model.api.struct import JsonObject

NOTE_PREFIX: Final = "volume-pvc-"
_DIGITS: Final = 12


def claim_name(job: Job, volume: VolumeSpec) -> str:
    """The claim that the user names, or the one that we create."""
    return volume.volume_claim_name or f"{job.metadata.name}-pvc-{_digest(job, volume.mount_path)}"


def claim_effects(job: Job) -> list[CreateObject]:
    """Creates of the job's own claims. An existing claim of this job counts as created."""
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
    """Keys of the claims that this controller does not create."""
    names = {volume.volume_claim_name for volume in job.spec.volumes if volume.volume_claim_name}
    return [f"{job.metadata.namespace}/{name}" for name in sorted(names)]


def claim_notes(job: Job) -> dict[str, str]:
    """The notes of claims, as in `status.controlledResources`."""
    names = sorted(claim_name(job, volume) for volume in job.spec.volumes)
    return {NOTE_PREFIX + name: name for name in names}


def mount_volumes(job: Job, spec: JsonObject) -> None:
    """Add one volume per claim, mounted in every main container."""
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
