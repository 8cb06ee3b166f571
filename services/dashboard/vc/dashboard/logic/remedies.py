"""Remedies of a waiting job: the scheduler's search, on the cluster as in the view."""

from collections.abc import Callable
from typing import Final

from vc.dashboard.logic.answers.future_answers import Remedy
from vc.dashboard.logic.answers.reason_answers import answered_unblock
from vc.dashboard.logic.what_if import Ground
from vc.messages.sessions import Reason, Unblock
from vc.model.faults import describe
from vc.model.values.times import format_duration
from vc.scheduling.explain.remedy_search import Finding, RemedySearch
from vc.scheduling.explain.remedy_text import remedy_steps
from vc.scheduling.explain.simulation import Snapshot

VICTIMS_SHOWN_MAX: Final = 20


def find_remedy(ground: Ground, group: str, reason: Reason, *, go_on: Callable[[], bool]) -> Remedy:
    """The first change that starts the job in a simulation, else the
    session's own unchecked proposal."""
    snapshot = Snapshot(
        objects=list(ground.objects),
        conf=ground.conf,
        now=ground.now,
        scheduler_names=ground.scheduler_names,
        make_pods=ground.make_pods(),
    )
    try:
        finding = RemedySearch(snapshot, group, go_on=go_on).find(alternatives=True)
    except Exception as error:  # noqa: BLE001 - whatever third parties' plugins may raise
        return _unchecked(reason.unblock, f"the simulation failed: {describe(error)}")
    # An incomplete search cannot say that there is no remedy.
    if not finding.exhausted:
        count = finding.simulations
        return _unchecked(reason.unblock, f"no remedy was found within {count} simulations")
    return _answer(finding)


def refused_by_api_server(refusal: str) -> Remedy:
    """The remedy for refused objects of a job, which a scheduler cannot simulate."""
    return Remedy(
        checked=False,
        unblock=None,
        steps=["resolve what the API server refuses; the job controller then tries again"],
        basis=refusal,
        victims=[],
        victims_total=0,
        alternatives=[],
    )


def _answer(finding: Finding) -> Remedy:
    if finding.starts_anyway:
        basis = "nothing has to be done: the next sessions start it"
    elif finding.remedy is None:
        basis = (
            f"none known: no change of nodes, quota, priority, requests or running jobs starts it "
            f"({finding.simulations} simulations)"
        )
    else:
        basis = f"checked: simulated, the job starts {_after(finding.after_seconds)}"
    return Remedy(
        checked=True,
        unblock=answered_unblock(finding.remedy) if finding.remedy is not None else None,
        steps=remedy_steps(finding.remedy) if finding.remedy is not None else [],
        basis=basis,
        victims=list(finding.victims[:VICTIMS_SHOWN_MAX]),
        victims_total=len(finding.victims),
        alternatives=[" and ".join(remedy_steps(other)) for other in finding.alternatives],
    )


def _after(seconds: float) -> str:
    return f"within {format_duration(max(1, round(seconds)))}"


def _unchecked(proposed: Unblock | None, why: str) -> Remedy:
    return Remedy(
        checked=False,
        unblock=answered_unblock(proposed) if proposed is not None else None,
        steps=remedy_steps(proposed) if proposed is not None else [],
        basis=f"not checked: {why}",
        victims=[],
        victims_total=0,
        alternatives=[],
    )
