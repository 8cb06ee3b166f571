"""The outcome of a session of the reference."""

from dataclasses import dataclass, field

from tests.reference.cluster import Amounts


@dataclass(eq=False)
class Outcome:
    """Which jobs are enqueued, which pods are placed and evicted, and the phases that follow."""

    enqueued: list[str] = field(default_factory=list)
    claims: dict[str, Amounts] = field(default_factory=dict)
    """Enqueued job to its enqueued resources."""
    binds: dict[str, str] = field(default_factory=dict)
    """Pod to node."""
    victims: dict[str, list[str]] = field(default_factory=dict)
    """Job to the pods that are evicted for it."""
    phases: dict[str, str] = field(default_factory=dict)
    deserved: dict[str, Amounts] = field(default_factory=dict)
