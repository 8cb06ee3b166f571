"""Volumes of a job: claims that are mounted in every container."""

from vc.model.api.job import VolumeSpec
from vc.validation.names import check_subdomain
from vc.validation.result import ValidationResult


def check_volumes(found: ValidationResult, path: str, volumes: list[VolumeSpec]) -> None:
    """Check that each volume has a unique mount path and exactly one way to name the claim."""
    paths: set[str] = set()
    for index, volume in enumerate(volumes):
        place = f"{path}[{index}]"
        if not volume.mount_path:
            found.refuse(
                f"{place}.mountPath", "is required; say where the claim is mounted",
                upstream="mountPath is required",
            )  # fmt: skip
        elif ":" in volume.mount_path:
            found.refuse(f"{place}.mountPath", "must not contain ':'", value=volume.mount_path)
        elif volume.mount_path in paths:
            found.refuse(
                f"{place}.mountPath", "is used twice; give each volume its own",
                value=volume.mount_path, upstream=f"duplicated mountPath: {volume.mount_path}",
            )  # fmt: skip
        paths.add(volume.mount_path)
        _check_claim(found, place, volume)


def _check_claim(found: ValidationResult, path: str, volume: VolumeSpec) -> None:
    # With both fields it would be unclear which claim is used.
    if volume.volume_claim is not None and volume.volume_claim_name:
        found.refuse(path, "has volumeClaim and volumeClaimName; keep one of them")
    elif volume.volume_claim is None and not volume.volume_claim_name:
        found.refuse(path, "needs volumeClaim (to make one) or volumeClaimName (to use one)")
    elif volume.volume_claim_name:
        check_subdomain(found, f"{path}.volumeClaimName", volume.volume_claim_name)
