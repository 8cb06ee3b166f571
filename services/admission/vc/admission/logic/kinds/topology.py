"""The network topology of a job or PodGroup."""

from vc.admission.logic.findings import Findings
from vc.model.api.job import NetworkTopology


def check_topology(found: Findings, path: str, topology: NetworkTopology | None) -> None:
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
