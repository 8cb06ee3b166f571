"""How the finding of the remedy search is answered, and which jobs have rows for pods beyond their minimum."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.unit.dashboard.cluster import Cluster, changed, full, manifest
from tests.unit.dashboard.test_remedies import elastic, explained
from vc.dashboard.logic import remedies
from vc.dashboard.logic.answers.future_answers import Remedy
from vc.dashboard.logic.remedies import VICTIMS_SHOWN_MAX, find_remedy
from vc.dashboard.logic.surplus_rows import surplus_rows
from vc.dashboard.logic.what_if import Ground
from vc.messages.sessions import Reason, Stage, Unblock
from vc.model.api.pod import Pod, PodCondition
from vc.model.api.scheduling import PodGroup
from vc.scheduling.explain.remedy_search import Finding
from vc.scheduling.explain.simulation import Snapshot

QUOTA = Unblock(action="raise-capability", target="team", amounts={"cpu": 2000})
ROOM = Unblock(action="add-room", pods=1, amounts={"cpu": 1000})
WAITS = Reason(stage=Stage.GANG, code="NotEnoughResources", sentence="no room", unblock=ROOM)


def answered(
    monkeypatch: pytest.MonkeyPatch, find: Callable[[Snapshot], Finding], ground: Ground
) -> Remedy:
    """What is answered for a finding."""

    class Search:
        def __init__(self, snapshot: Snapshot, *_: object, **__: object) -> None:
            self._snapshot = snapshot

        def find(self, **_: object) -> Finding:
            return find(self._snapshot)

    monkeypatch.setattr(remedies, "RemedySearch", Search)
    return find_remedy(ground, "ml/waits", WAITS, go_on=lambda: True)


def answer(monkeypatch: pytest.MonkeyPatch, **finding: Any) -> Remedy:
    return answered(monkeypatch, lambda _: Finding(**finding), full().ground())


def test_a_remedy_says_when_the_job_starts_whom_it_evicts_and_what_else_would_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    victims = tuple(f"ml/p-{n}" for n in range(VICTIMS_SHOWN_MAX + 5))
    both = Unblock(action=QUOTA.action, target=QUOTA.target, amounts=QUOTA.amounts, also=[ROOM])
    found = answer(
        monkeypatch, remedy=QUOTA, after_seconds=42.4, victims=victims, alternatives=(both, ROOM)
    )
    assert found.checked
    assert found.basis == "checked: simulated, the job starts within 42s"
    assert found.steps == ["raise the capability of queue 'team' by cpu 2"]
    assert found.unblock is not None
    assert found.unblock.action == "raise-capability"
    assert (found.victims, found.victims_total) == (list(victims[:20]), 25)
    assert found.alternatives == [
        (
            "raise the capability of queue 'team' by cpu 2 and "
            "add nodes with room for 1 more pod of cpu 1 each"
        ),
        "add nodes with room for 1 more pod of cpu 1 each",
    ]


def test_a_job_that_starts_at_once_starts_within_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(monkeypatch, remedy=ROOM).basis.endswith("starts within 1s")


def test_where_none_is_known_the_number_of_simulations_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = answer(monkeypatch, remedy=None, simulations=7)
    assert (found.checked, found.unblock, found.steps) == (True, None, [])
    assert found.basis.startswith("none known: ")
    assert found.basis.endswith("(7 simulations)")


def test_a_search_that_came_to_its_bound_shows_the_proposal_of_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = answer(monkeypatch, remedy=None, exhausted=False, simulations=7)
    assert not found.checked
    assert found.basis == "not checked: no remedy was found within 7 simulations"
    assert found.steps == ["add nodes with room for 1 more pod of cpu 1 each"]


def test_a_search_that_came_to_its_bound_without_a_proposal_shows_no_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f"{__name__}.WAITS", msgspec.structs.replace(WAITS, unblock=None))
    found = answer(monkeypatch, remedy=None, exhausted=False, simulations=7)
    assert (found.checked, found.unblock, found.steps) == (False, None, [])


def test_a_simulation_that_fails_shows_the_proposal_of_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: Snapshot) -> Finding:
        raise ValueError("a plugin")

    found = answered(monkeypatch, fail, full().ground())
    assert not found.checked
    assert found.basis.startswith("not checked: the simulation failed: ")
    assert "a plugin" in found.basis
    assert found.unblock is not None
    assert found.unblock.action == "add-room"


def test_the_search_has_the_objects_the_configuration_and_the_names_of_the_scheduler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Snapshot] = []

    def look(snapshot: Snapshot) -> Finding:
        seen.append(snapshot)
        return Finding(remedy=None)

    ground = full().ground()
    ground = type(ground)(**{**_fields(ground), "scheduler_names": ("second",)})
    answered(monkeypatch, look, ground)
    (snapshot,) = seen
    assert (snapshot.objects, snapshot.conf, snapshot.now, snapshot.scheduler_names) == (
        list(ground.objects), ground.conf, ground.now, ("second",),
    )  # fmt: skip


def _fields(ground: Ground) -> dict[str, Any]:
    return {
        name: getattr(ground, name) for name in ("objects", "jobs", "conf", "basis", "now", "stale")
    }


def test_a_job_that_the_next_sessions_start_needs_nothing() -> None:
    """Its reason is of an earlier session: since then the other job has ended."""
    cluster = full()
    cluster.run(manifest("first", 4))
    cluster.run(manifest("waits", 2))
    cluster.objects = [
        obj
        for obj in cluster.objects
        if not (isinstance(obj, Pod | PodGroup) and obj.metadata.name.startswith("first"))
    ]
    found = explained(cluster, "waits").remedy
    assert found is not None
    assert (found.checked, found.unblock, found.steps) == (True, None, [])
    assert found.basis == "nothing has to be done: the next sessions start it"


# -- rows for pods beyond the minimum ------------------------------------------------------------


def rows(cluster: Cluster, queue: str = "default", known: tuple[str, ...] = ()) -> list[str]:
    return [row.group for row in surplus_rows(cluster.cluster_index(), queue, known=known)]


def placed() -> Cluster:
    cluster = full()
    cluster.run(manifest("grows", 4))
    return cluster


def waiting() -> Cluster:
    cluster = full()
    cluster.run(manifest("first", 4))
    cluster.run(manifest("grows", 2))
    return cluster


@pytest.mark.parametrize(
    ("cluster", "queue", "known", "listed"),
    [
        pytest.param(elastic, "default", (), ["ml/grows"], id="a job that waits for more pods"),
        pytest.param(elastic, "other", (), [], id="a job of another queue"),
        pytest.param(elastic, "default", ("ml/grows",), [], id="a job that is listed already"),
        pytest.param(waiting, "default", (), [], id="a job that has not started"),
        pytest.param(placed, "default", (), [], id="a job whose pods all have nodes"),
    ],
)
def test_jobs_with_rows_for_pods_beyond_their_minimum(
    cluster: Callable[[], Cluster], queue: str, known: tuple[str, ...], listed: list[str]
) -> None:
    assert rows(cluster(), queue, known) == listed


def with_conditions(cluster: Cluster, *conditions: PodCondition) -> Cluster:
    """The conditions stand on each pod that waits."""
    cluster.objects = [
        changed(obj, status=changed(obj.status, conditions=list(conditions)))
        if isinstance(obj, Pod) and not obj.spec.node_name
        else obj
        for obj in cluster.objects
    ]
    return cluster


OWN = "2 pods wait beyond the minimum of 1; the job runs"


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        pytest.param(("PodScheduled", "False", "no room"), "no room", id="what the pod says"),
        pytest.param(("PodScheduled", "False", ""), OWN, id="a condition without a message"),
        pytest.param(("PodScheduled", "True", "bound"), OWN, id="a pod that was scheduled"),
        pytest.param(("Ready", "False", "not ready"), OWN, id="another condition"),
    ],
)
def test_the_reason_of_a_row_is_what_the_scheduler_wrote_on_a_pod(
    condition: tuple[str, str, str], told: str
) -> None:
    kind, status, message = condition
    written = PodCondition(type=kind, status=status, message=message)
    (row,) = surplus_rows(with_conditions(elastic(), written).cluster_index(), "default", known=())
    assert row.reason == told


def test_one_pod_beyond_the_minimum_is_counted_as_one() -> None:
    cluster = full()
    cluster.run(manifest("grows", 5, minimum=1))
    cluster.objects = [
        changed(obj, status=changed(obj.status, phase="Running"))
        if isinstance(obj, PodGroup)
        else obj
        for obj in cluster.objects
    ]
    (row,) = surplus_rows(cluster.cluster_index(), "default", known=())
    assert row.reason == "1 pod waits beyond the minimum of 1; the job runs"
    assert row.created == cluster.cluster_index().groups["ml/grows"].metadata.creation_timestamp
