"""What starts a waiting job, found and checked by simulation.

1. Without any change: a job that the next sessions start anyway needs none.
2. What the session proposes, as often as it takes: a job that gets past one refusal meets the next, and
   others may take what was added. What was proposed on the way is one remedy; parts that it can do without
   are taken out again.
3. Where that leads nowhere, single remedies of each kind (`candidates.py`).

Only what made the job start in a simulation of the whole cluster is reported. Simulations are counted:
a search that comes to its bound says so instead of guessing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from vc_messages.sessions import JobReason, Unblock
from vc_model.scheduling import PodGroup
from vc_scheduler.logic.explain.candidates import Candidates, together
from vc_scheduler.logic.explain.cluster_objects import CannotApplyError
from vc_scheduler.logic.explain.simulation import Simulated, Snapshot, simulate

SIMULATIONS_MAX: Final = 120
"""Of one search, on a small cluster."""
SIMULATIONS_MIN: Final = 6
"""Of one search, on the largest: what the session proposes is checked all the same."""
OBJECTS_SIMULATED_MAX: Final = 400_000
"""Between the two: each simulation starts with a copy of every object."""
STEPS_MAX: Final = 12
"""Proposals that are followed one after the other."""
DOUBLING_FROM: Final = 4
"""The step from which what is proposed again is doubled: other jobs take what is added, or a share of it."""
BEHIND_MAX: Final = 8
"""Jobs in a fifo queue that are looked through, each behind the next."""
ALTERNATIVES_MAX: Final = 3


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What the search found for one job."""

    remedy: Unblock | None
    """None: none is known, or none is needed."""
    starts_anyway: bool = False
    """Sessions start it without any change."""
    exhausted: bool = True
    """Whether all candidates were tried where none was found; False: the search came to its bound."""
    simulations: int = 0
    after_seconds: float = 0.0
    """In the simulation, from the remedy to the start."""
    victims: tuple[str, ...] = ()
    """Pods that the scheduler evicts for the job then."""
    alternatives: tuple[Unblock, ...] = ()
    """Others that start it, too, one of a kind."""


class _OutOfBudgetError(Exception):
    """No simulations are left, or no time."""


class RemedySearch:
    """For one waiting job."""

    def __init__(
        self,
        snapshot: Snapshot,
        group: str,
        *,
        unchanged: Simulated | None = None,
        go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """`unchanged` is the simulation without any remedy, where it is known already."""
        self._snapshot = snapshot
        self._group = group
        self._unchanged = unchanged
        self._go_on = go_on
        allowed = OBJECTS_SIMULATED_MAX // max(1, len(snapshot.objects))
        self._left = max(SIMULATIONS_MIN, min(SIMULATIONS_MAX, allowed))
        self._allowed = self._left
        found = (o for o in snapshot.objects if isinstance(o, PodGroup) and o.key == group)
        self._candidates = Candidates(snapshot, next(found))

    def find(self, *, alternatives: bool = False) -> Finding:
        """The first remedy that works; with `alternatives` also some of other kinds."""
        try:
            finding = self._find()
        except _OutOfBudgetError:
            return Finding(remedy=None, exhausted=False, simulations=self._used)
        if finding.remedy is not None and alternatives:
            others = tuple(self._alternatives(finding.remedy))
            finding = msgspec.structs.replace(finding, alternatives=others)
        return msgspec.structs.replace(finding, simulations=self._used)

    @property
    def _used(self) -> int:
        return self._allowed - self._left

    def _find(self) -> Finding:
        before = self._unchanged or self._simulate(None)
        if self._group in before.started:
            return Finding(remedy=None, starts_anyway=True, after_seconds=before.after_seconds)
        followed = self._follow(before.reasons)
        if followed is not None:
            return followed
        # Single remedies, then each on top of what was followed without success.
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

    # -- what sessions propose ---------------------------------------------------------------------

    def _follow(self, reasons: Mapping[str, JobReason]) -> Finding | None:
        """Proposals one after the other, all applied together each time."""
        parts: list[Unblock] = []
        for step in range(STEPS_MAX):
            proposed = _proposed(reasons, self._group)
            merged = _merged(parts, proposed, doubling=step >= DOUBLING_FROM)
            if not proposed or merged == parts:
                return None
            # What is new since the last simulation is needed when it is one part: without it that
            # simulation was not enough.
            new = [part for part in merged if part not in parts]
            parts = merged
            found = self._try(together(parts))
            if found is not None:
                return self._pruned(together(parts), found, needed=new if len(new) == 1 else [])
            self._followed = parts
            if self._last is None or self._group not in self._last.reasons:
                return None
            reasons = self._last.reasons
        return None

    _followed: Sequence[Unblock] = ()
    """All that was proposed on the way, without success."""

    def _pruned(self, remedy: Unblock, found: Simulated, *, needed: list[Unblock]) -> Finding:
        """Without the parts that it can do without, as far as simulations are left."""
        parts = [msgspec.structs.replace(remedy, also=[]), *remedy.also]
        at = 0
        while len(parts) > 1 and at < len(parts) and self._left > 0 and self._go_on():
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
        """One of each other kind that starts it, too, as far as simulations are left."""
        count = 0
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
    """The simulation before; None when it could not be made."""

    def _try(self, remedy: Unblock) -> Simulated | None:
        """None when the job does not start with it."""
        try:
            self._last = self._simulate(remedy)
        except CannotApplyError:
            self._last = None
            return None
        return self._last if self._group in self._last.started else None

    def _simulate(self, remedy: Unblock | None) -> Simulated:
        if self._left <= 0 or not self._go_on():
            raise _OutOfBudgetError
        self._left -= 1
        return simulate(self._snapshot, self._group, remedy)


def _proposed(reasons: Mapping[str, JobReason], group: str) -> list[Unblock]:
    """What is proposed for a job, in parts; of one that waits behind another, what helps that one."""
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
    """With more of the same added to it: nodes by their count, limits by their amounts."""
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
    """Both as one part, or (None) when they are different things."""
    if (old.action, old.target, old.where) != (new.action, new.target, new.where):
        return None
    if old.pods and new.pods:
        if old.amounts != new.amounts:
            return None
        more = max(new.pods, old.pods) if doubling else new.pods
        return msgspec.structs.replace(old, pods=old.pods + more)
    if bool(old.pods) != bool(new.pods):
        return None
    total = dict(old.amounts)
    for name, amount in new.amounts.items():
        has = total.get(name, 0)
        total[name] = has + (max(has, amount) if doubling else amount)
    return msgspec.structs.replace(old, amounts=total, weight=max(old.weight, new.weight))
