"""What a session of the reference comes to."""

from dataclasses import dataclass, field

from tests.reference.cluster import Amounts


@dataclass(eq=False)
class Outcome:
    """Who is let in, placed and evicted, and the phases that follow."""

    enqueued: list[str] = field(default_factory=list)
    claims: dict[str, Amounts] = field(default_factory=dict)
    """Job that is let in to what it is promised with that."""
    binds: dict[str, str] = field(default_factory=dict)
    """Pod to node."""
    victims: dict[str, list[str]] = field(default_factory=dict)
    """Job to the pods that are evicted for it."""
    phases: dict[str, str] = field(default_factory=dict)
    deserved: dict[str, Amounts] = field(default_factory=dict)
