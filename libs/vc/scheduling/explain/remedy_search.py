"""Finds a change that starts a waiting job, and checks it by simulation.

1. Simulate without any change. A job that the next sessions start anyway needs no remedy.
2. Follow the proposals of the sessions. A job that passes one refusal meets the next one, and other
   jobs may use what was added. All proposals on the way form one remedy; unnecessary parts are
   removed again.
3. If that fails, try single remedies of each kind (`candidates.py`).

Only a change that started the job in a simulation of the whole cluster is reported. The number of
simulations is bounded, and a search that reaches the bound reports that instead of guessing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from vc.messages.sessions import JobReason, Unblock
from vc.model.api.scheduling import PodGroup
from vc.model.values.resources import Resources
from vc.scheduling.explain.candidates import Candidates, together
from vc.scheduling.explain.cluster_objects import CannotApplyError
from vc.scheduling.explain.simulation import Simulated, Snapshot, simulate

SIMULATIONS_MAX: Final = 120
"""Simulations of one search on a small cluster."""
SIMULATIONS_MIN: Final = 6
"""Simulations of one search on the largest cluster: enough to check the proposal of the session."""
OBJECTS_SIMULATED_MAX: Final = 400_000
"""Objects that all simulations of one search may copy; each simulation copies every object."""
STEPS_MAX: Final = 12
"""Maximum number of proposals that are followed one after another."""
DOUBLING_FROM: Final = 4
"""Step from which a repeated proposal is doubled, because other jobs use part of what is added."""
BEHIND_MAX: Final = 8
"""Maximum number of jobs in a FIFO queue that are followed to find the one at the front."""
ALTERNATIVES_MAX: Final = 3
"""Maximum number of alternatives that are reported."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the search for one job."""

    remedy: Unblock | None
    """None when no remedy was found or none is needed."""
    starts_anyway: bool = False
    """Whether the next sessions start the job without any change."""
    exhausted: bool = True
    """Without a remedy: whether all candidates were tried. False when the search reached its bound."""
    simulations: int = 0
    after_seconds: float = 0.0
    """Simulated time from the remedy to the start."""
    victims: tuple[str, ...] = ()
    """Pods that the scheduler evicts for the job in the simulation."""
    alternatives: tuple[Unblock, ...] = ()
    """Other remedies that also start the job, at most one per kind."""


class _OutOfBudgetError(Exception):
    """No simulations or no time are left."""


class RemedySearch:
    """Search for one waiting job."""

    def __init__(
        self,
        snapshot: Snapshot,
        group: str,
        *,
        unchanged: Simulated | None = None,
        go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Prepare a search.

        `unchanged` is the simulation without a remedy, if it is already known. `go_on` returns
        False when the search must stop, for example at a deadline.
        """
        self._snapshot = snapshot
        self._group = group
        self._unchanged = unchanged
        self._go_on = go_on
        # A simulation costs time in proportion to the objects, so the number of simulations is
        # lower on a large cluster.
        allowed = OBJECTS_SIMULATED_MAX // max(1, len(snapshot.objects))
        self._left = max(SIMULATIONS_MIN, min(SIMULATIONS_MAX, allowed))
        self._allowed = self._left
        found = (o for o in snapshot.objects if isinstance(o, PodGroup) and o.key == group)
        self._candidates = Candidates(snapshot, next(found))

    def find(self, *, alternatives: bool = False) -> Finding:
        """Return the first remedy that works; with `alternatives` also some of other kinds."""
        try:
            finding = self._find()
        except _OutOfBudgetError:
            return Finding(remedy=None, exhausted=False, simulations=self._used)
        # Alternatives use only what is left of the budget, so they come after the remedy itself.
        if finding.remedy is not None and alternatives:
            others = tuple(self._alternatives(finding.remedy))
            finding = msgspec.structs.replace(finding, alternatives=others)
        return msgspec.structs.replace(finding, simulations=self._used)

    @property
    def _used(self) -> int:
        return self._allowed - self._left

    def _find(self) -> Finding:
        # Without this check, any change would seem to start a job that the next session starts.
        before = self._unchanged or self._simulate(None)
        if self._group in before.started:
            return Finding(remedy=None, starts_anyway=True, after_seconds=before.after_seconds)
        followed = self._follow(before.reasons)
        if followed is not None:
            return followed
        # Single remedies come first, because a small remedy is easier to carry out. The second
        # round adds each of them to the proposals that were followed without success.
        for base in ([], self._followed) if self._followed else ([],):
            for kind in self._candidates.kinds():
                for single in kind():
                    candidate = together(
                        [*base, msgspec.structs.replace(single, also=[]), *single.also]
                    )
                    found = self._try(candidate)
                    if found is not None:
                        return self._pruned(candidate, found, needed=[])
        return Finding(remedy=None)

    # -- proposals of sessions ---------------------------------------------------------------------

    def _follow(self, reasons: Mapping[str, JobReason]) -> Finding | None:
        """Follow the proposals one after another; each simulation applies all of them."""
        parts: list[Unblock] = []
        for step in range(STEPS_MAX):
            # Proposals come from the simulation with all former parts applied: what is refused next
            # depends on what was changed so far.
            proposed = _proposed(reasons, self._group)
            merged = _merged(parts, proposed, doubling=step >= DOUBLING_FROM)
            # The same parts again would be simulated with the same result.
            if not proposed or merged == parts:
                return None
            # A single new part is certainly needed, because the last simulation failed without it.
            # Pruning does not have to try it again.
            new = [part for part in merged if part not in parts]
            parts = merged
            found = self._try(together(parts))
            if found is not None:
                return self._pruned(together(parts), found, needed=new if len(new) == 1 else [])
            self._followed = parts
            # Without a reason for the job there is no next proposal to follow.
            if self._last is None or self._group not in self._last.reasons:
                return None
            reasons = self._last.reasons
        return None

    _followed: Sequence[Unblock] = ()
    """The proposals that were followed without success."""

    def _pruned(self, remedy: Unblock, found: Simulated, *, needed: list[Unblock]) -> Finding:
        """Remove parts that are not necessary, as long as simulations are left."""
        parts = [msgspec.structs.replace(remedy, also=[]), *remedy.also]
        at = 0
        while len(parts) > 1 and at < len(parts) and self._left > 0 and self._go_on():
            # One part is left out at a time. A part that proves unnecessary stays removed, so the
            # result is minimal for this order.
            fewer = [*parts[:at], *parts[at + 1 :]]
            starts = self._try(together(fewer)) if parts[at] not in needed else None
            if starts is not None:
                parts, found = fewer, starts
            else:
                at += 1
        return Finding(
            remedy=together(parts), after_seconds=found.after_seconds, victims=found.victims
        )

    def _alternatives(self, remedy: Unblock) -> Iterator[Unblock]:
        """Yield at most one remedy of each other kind that also starts the job."""
        count = 0
        # The last two kinds, limits and nodes, are left out: they start almost any job and need an administrator.
        for kind in self._candidates.kinds()[:-2]:
            try:
                for candidate in kind():
                    if candidate.action == remedy.action or count == ALTERNATIVES_MAX:
                        break
                    if self._try(candidate) is not None:
                        count += 1
                        yield candidate
                        break
            except _OutOfBudgetError:
                return

    # -- simulations -------------------------------------------------------------------------------

    _last: Simulated | None = None
    """The last simulation; None when its remedy could not be applied."""

    def _try(self, remedy: Unblock) -> Simulated | None:
        """Simulate a remedy; None when the job does not start with it."""
        try:
            self._last = self._simulate(remedy)
        # A remedy for an object that does not exist any more ends this candidate, not the search.
        except CannotApplyError:
            self._last = None
            return None
        return self._last if self._group in self._last.started else None

    def _simulate(self, remedy: Unblock | None) -> Simulated:
        """Run one simulation, or raise when the budget is used up."""
        if self._left <= 0 or not self._go_on():
            raise _OutOfBudgetError
        self._left -= 1
        return simulate(self._snapshot, self._group, remedy)


def _proposed(reasons: Mapping[str, JobReason], group: str) -> list[Unblock]:
    """Return the parts that are proposed for a job.

    For a job that waits behind another one, return what is proposed for that one.
    """
    # Bounded, because a FIFO queue may be long and reasons could refer to each other.
    for _ in range(BEHIND_MAX):
        found = reasons.get(group)
        proposed = found.reason.unblock if found is not None else None
        if proposed is None:
            return []
        if proposed.action != "wait" or proposed.target not in reasons:
            return [msgspec.structs.replace(proposed, also=[]), *proposed.also]
        group = proposed.target
    return []


def _merged(parts: Sequence[Unblock], more: Sequence[Unblock], *, doubling: bool) -> list[Unblock]:
    """Add new parts to the list; parts of the same kind are combined into one."""
    merged = list(parts)
    for new in more:
        for at, old in enumerate(merged):
            joined = _joined(old, new, doubling=doubling)
            if joined is not None:
                merged[at] = joined
                break
        else:
            merged.append(new)
    return merged


def _joined(old: Unblock, new: Unblock, *, doubling: bool) -> Unblock | None:
    """Combine two parts into one; None when they are different changes.

    Nodes are added by their count, limits by their amounts.
    """
    if (old.action, old.target, old.where) != (new.action, new.target, new.where):
        return None
    if old.pods and new.pods:
        # Nodes of another size are a different change, which one count cannot describe.
        if old.amounts != new.amounts:
            return None
        more = max(new.pods, old.pods) if doubling else new.pods
        return msgspec.structs.replace(old, pods=old.pods + more)
    if bool(old.pods) != bool(new.pods):
        return None
    had = Resources(old.amounts)
    # Doubling adds at least as much of each resource of the new part as the old one had.
    total = had + (had.only(new.amounts).largest(new.amounts) if doubling else new.amounts)
    return msgspec.structs.replace(old, amounts=total, weight=max(old.weight, new.weight))
