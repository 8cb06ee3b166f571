"""The network topology of a job or PodGroup."""

from vc.model.api.job import NetworkTopology
from vc.validation.result import ValidationResult


def check_topology(found: ValidationResult, path: str, topology: NetworkTopology | None) -> None:
    """Check that only one way to name the highest tier is used, and that the mode is known."""
    if topology is None:
        return
    if topology.highest_tier_allowed is not None and topology.highest_tier_name:
        found.refuse(
            path,
            "highestTierAllowed and highestTierName exclude each other; keep one of them",
        )
    if topology.mode not in ("hard", "soft"):
        found.refuse(f"{path}.mode", "must be hard or soft", value=topology.mode)
