"""The search for a remedy: only what starts the job is reported, without parts that are not needed."""

from collections.abc import Callable

import msgspec
import pytest

from tests.unit.scheduling.explain.builders import (
    group,
    node,
    pods,
    priority_class,
    queue,
    snapshot,
)
from vc.messages.sessions import JobReason, Reason, Stage, Unblock
from vc.model.api.scheduling import PodGroup
from vc.scheduling.conf.model import Conf
from vc.scheduling.explain import remedy_search
from vc.scheduling.explain.remedy_search import SIMULATIONS_MIN, RemedySearch
from vc.scheduling.explain.simulation import Simulated, Snapshot

JOB = "ns/a"
Starts = Callable[[tuple[Unblock, ...]], bool]


def parts_of(remedy: Unblock) -> tuple[Unblock, ...]:
    return (msgspec.structs.replace(remedy, also=[]), *remedy.also)


def reason(unblock: Unblock | None) -> JobReason:
    why = Reason(stage=Stage.GANG, code="NotEnoughResources", sentence="", unblock=unblock)
    return JobReason(group=JOB, uid="", queue="default", position=1, reason=why)


class Fake:
    """Simulations that start the job when the parts of the remedy fulfil a condition."""

    def __init__(self, starts: Starts, proposals: list[Unblock | None]) -> None:
        self.tried: list[tuple[Unblock, ...]] = []
        self._starts = starts
        self._proposals = proposals

    def __call__(self, _: Snapshot, group: str, remedy: Unblock | None) -> Simulated:
        parts = () if remedy is None else parts_of(remedy)
        if remedy is not None:
            self.tried.append(parts)
        if self._starts(parts):
            return Simulated(started={group: None})
        at = min(len(self.tried), len(self._proposals) - 1)
        return Simulated(started={}, reasons={JOB: reason(self._proposals[at])})


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[RemedySearch, Fake]]:
    def make(starts: Starts, proposals: list[Unblock | None]) -> tuple[RemedySearch, Fake]:
        fake = Fake(starts, proposals)
        monkeypatch.setattr(remedy_search, "simulate", fake)
        given = snapshot(group("a", 4), pods("a", 4), priority_class("high", 9), queue())
        return RemedySearch(given, JOB), fake

    return make


Search = Callable[..., tuple[RemedySearch, Fake]]


def capability(cpu: int) -> Unblock:
    return Unblock(action="raise-capability", target="default", amounts={"cpu": cpu})


def more_nodes(count: int) -> Unblock:
    return Unblock(action="add-room", pods=count, amounts={"cpu": 1000})


def test_a_job_that_starts_anyway_needs_no_remedy(search: Search) -> None:
    finder, fake = search(lambda parts: True, [None])
    found = finder.find()
    assert (found.remedy, found.starts_anyway, found.simulations) == (None, True, 1)
    assert fake.tried == []


def test_proposals_are_followed_and_of_one_kind_are_added_up(search: Search) -> None:
    finder, _ = search(
        lambda parts: {p.action: p.pods for p in parts}.get("add-room", 0) >= 5,
        [more_nodes(2), more_nodes(3)],
    )
    found = finder.find()
    assert found.remedy == more_nodes(5)


def test_parts_that_are_not_needed_are_removed(search: Search) -> None:
    finder, _ = search(
        lambda parts: more_nodes(2) in parts, [capability(1000), more_nodes(2), None]
    )
    assert finder.find().remedy == more_nodes(2)


def test_a_proposal_of_several_parts_is_pruned_although_it_is_new(search: Search) -> None:
    both = msgspec.structs.replace(capability(1000), also=[more_nodes(2)])
    finder, _ = search(lambda parts: more_nodes(2) in parts, [both])
    assert finder.find().remedy == more_nodes(2)


def test_repeated_proposals_grow_faster_and_faster(search: Search) -> None:
    finder, fake = search(lambda parts: sum(p.pods for p in parts) >= 100, [more_nodes(1)])
    found = finder.find()
    assert found.remedy is not None
    assert found.remedy.pods >= 100
    assert len(fake.tried) < 12


def test_amounts_of_a_limit_grow_faster_and_faster(search: Search) -> None:
    finder, fake = search(
        lambda parts: any(p.amounts.get("cpu", 0) >= 100_000 for p in parts), [capability(1000)]
    )
    found = finder.find()
    assert found.remedy is not None
    assert found.remedy.action == "raise-capability"
    assert len(fake.tried) < 12


def test_the_larger_weight_of_two_proposals_counts(search: Search) -> None:
    def weight(value: int) -> Unblock:
        return Unblock(action="raise-weight", target="default", weight=value)

    finder, _ = search(
        lambda parts: any(p.weight >= 4 for p in parts), [weight(2), weight(4), weight(3)]
    )
    found = finder.find()
    assert found.remedy is not None
    assert found.remedy.weight == 4


def test_a_single_remedy_is_tried_where_proposals_end(search: Search) -> None:
    finder, _ = search(
        lambda parts: [p.action for p in parts] == ["raise-priority"], [capability(1000), None]
    )
    found = finder.find()
    assert found.remedy == Unblock(action="raise-priority", target="high", priority=9)


def test_a_single_remedy_may_need_the_proposals_too(search: Search) -> None:
    wanted = {"raise-capability", "raise-priority"}
    finder, _ = search(lambda parts: wanted <= {p.action for p in parts}, [capability(1000), None])
    found = finder.find()
    assert found.remedy is not None
    assert {part.action for part in parts_of(found.remedy)} == wanted


def test_what_was_tried_in_full_is_exhausted(search: Search) -> None:
    finder, fake = search(lambda parts: False, [None])
    found = finder.find()
    assert (found.remedy, found.exhausted) == (None, True)
    assert len(fake.tried) > SIMULATIONS_MIN


def test_a_search_that_must_stop_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(lambda parts: False, [None])
    monkeypatch.setattr(remedy_search, "simulate", fake)
    given = snapshot(group("a", 4), pods("a", 4), queue())
    found = RemedySearch(given, JOB, go_on=lambda: len(fake.tried) < 3).find()
    assert (found.remedy, found.exhausted, found.simulations) == (None, False, 4)


def test_alternatives_are_of_other_kinds(search: Search) -> None:
    kinds = ("raise-priority", "lower-minimum")
    finder, _ = search(lambda parts: len(parts) == 1 and parts[0].action in kinds, [None])
    found = finder.find(alternatives=True)
    assert found.remedy is not None
    assert found.remedy.action == "raise-priority"
    assert [one.action for one in found.alternatives] == ["lower-minimum"]


def test_behind_another_job_the_proposal_for_that_one_counts() -> None:
    """On a real cluster: the job at the front of a fifo queue does not fit."""
    spec = msgspec.structs.replace(queue().spec, dequeue_strategy="fifo")
    fifo = msgspec.structs.replace(queue(), spec=spec)

    def since(year: int, job: PodGroup) -> PodGroup:
        at = f"{year}-01-01T00:00:00Z"
        metadata = msgspec.structs.replace(job.metadata, creation_timestamp=at)
        return msgspec.structs.replace(job, metadata=metadata)

    given = snapshot(
        since(2021, group("a", 1)),
        pods("a", 1, "1"),
        since(2020, group("first", 1)),
        pods("first", 1, "8"),
        fifo,
        node("n", 4),
        conf=Conf(actions=("enqueue", "allocate")),
    )
    found = RemedySearch(given, JOB).find()
    assert found.remedy is not None
    assert found.remedy.action == "add-room"
    assert found.remedy.amounts["cpu"] == 8000
