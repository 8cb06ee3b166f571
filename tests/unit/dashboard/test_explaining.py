"""Why jobs wait: who holds what, in which line they stand, and estimates with what they rest on."""

import pytest

from tests.unit.dashboard.cluster import NAMESPACE, Cluster, changed, full, manifest, volcanos
from tests.unit.scheduling.objects import EPOCH, node, nodes, pod, priority_class, queue
from vc.dashboard.logic import explaining as explaining_module
from vc.dashboard.logic import shares as standing_module
from vc.dashboard.logic.durations import HISTORY_MAX, Durations, stem_of
from vc.dashboard.logic.explaining import explain, starts_on
from vc.dashboard.logic.queues import queue_tree
from vc.dashboard.logic.shares import shares_of
from vc.messages.sessions import Stage
from vc.model.api.meta import OwnerReference
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.scheduling.conf.model import Conf, PluginConf

# -- explanations --------------------------------------------------------------------------------


def test_an_estimate_rests_on_the_jobs_own_word() -> None:
    cluster = full()
    cluster.run(manifest("first", 2, estimate="10m"), since=60)
    cluster.run(manifest("second", 2, estimate="1h"), since=60)
    cluster.run(manifest("waits", 2, estimate="5m"))
    seconds, basis, waits_for = cluster.estimate("waits")
    assert seconds == 540
    assert waits_for == ["ml/first"]
    assert "when ml/first has ended (its runningEstimate of 10m)" in basis
    cluster.run(manifest("wide", 4))
    seconds, basis, waits_for = cluster.estimate("wide")
    assert seconds == 3540, "after both, and after the one that is before it"
    assert waits_for == ["ml/first", "ml/waits", "ml/second"]


def test_an_estimate_rests_on_deadlines() -> None:
    cluster = full()
    cluster.run(manifest("first", 4, deadline=300), since=100)
    cluster.run(manifest("waits", 2))
    seconds, basis, _ = cluster.estimate("waits")
    assert seconds == 200
    assert "activeDeadlineSeconds of 300" in basis


def test_an_estimate_rests_on_what_jobs_like_it_took() -> None:
    cluster = full()
    for number, took in enumerate((100, 400, 900)):
        cluster.done(f"train-{number}", took)
    cluster.run(manifest("train-7", 4), since=60)
    cluster.run(manifest("waits", 2))
    seconds, basis, _ = cluster.estimate("waits")
    assert seconds == 340
    assert "3 finished jobs train* took 6m40s" in basis


def test_without_a_basis_there_is_no_estimate() -> None:
    cluster = full()
    cluster.run(manifest("first", 4))
    cluster.run(manifest("waits", 2))
    seconds, basis, waits_for = cluster.estimate("waits")
    assert (seconds, waits_for) == (0.0, [])
    assert basis == "unknown (no runningEstimate, deadline or history of ml/first)"


def not_let_in() -> Cluster:
    """A job runs for 9 more minutes, and one waits that has no pods yet."""
    cluster = full()
    cluster.run(manifest("first", 4, estimate="10m"), since=60)
    cluster.run(manifest("waits", 2))
    cluster.objects = [
        changed(obj, status=changed(obj.status, phase="Pending"))
        if isinstance(obj, PodGroup)
        else obj
        for obj in cluster.objects
        if not (isinstance(obj, Pod) and obj.key.startswith("ml/waits"))
    ]
    return cluster


def test_a_job_without_pods_gets_them_when_it_is_let_in() -> None:
    cluster = not_let_in()
    assert cluster.estimate("waits")[0] == 540


def test_a_job_over_its_estimate_has_none() -> None:
    cluster = full()
    cluster.run(manifest("late", 4, estimate="10s"), since=60)
    assert Durations(cluster.cluster_index()).ends(now=EPOCH) == []


def test_who_holds_what_is_missing_and_who_is_before_it() -> None:
    cluster = full()
    cluster.run(manifest("first", 3, estimate="10m"))
    cluster.run(manifest("small", 1))
    cluster.run(manifest("older", 3))
    cluster.run(manifest("younger", 3))
    found = explain(cluster.cluster_index(), cluster.reasons, "ml/younger", cluster.ground())
    assert found is not None
    assert [(h.group, h.pods, h.amounts["cpu"]) for h in found.holders] == [
        ("ml/first", 3, "3"),
        ("ml/small", 1, "1"),
    ]
    assert found.holders[0].basis == "its runningEstimate of 10m"
    assert found.holders[1].ends_at == ""
    assert (found.position, found.ahead) == (2, ["ml/older"])
    waiting = cluster.waiting("default")
    assert [(row.position, row.group) for row in waiting.waiting] == [
        (1, "ml/older"),
        (2, "ml/younger"),
    ]
    assert cluster.waiting("default", limit=1).total == 2


def test_the_waiting_list_says_for_what_and_what_the_queue_may_still_take() -> None:
    cluster = Cluster(queue("team", capability={"cpu": "6"}), nodes(2, cpu=4))
    cluster.run(manifest("runs", 4, queue="team"))
    cluster.run(manifest("waits", 3, queue="team"))
    found = cluster.waiting("team")
    assert (found.headroom["cpu"], found.deserved["cpu"]) == ("2", "6")
    assert found.basis == "a test"
    [row] = found.waiting
    assert (row.position, row.group, row.stage) == (1, "ml/waits", "quota")
    assert row.missing == {"cpu": "1"}
    assert row.unblock is not None
    assert (row.unblock.action, row.unblock.target) == ("raise-capability", "team")
    assert row.created


def test_a_queue_may_take_what_those_beside_it_leave() -> None:
    cluster = Cluster(
        queue("root"), queue("team", parent="root"), queue("other", parent="root"), nodes(2, cpu=4)
    )
    cluster.run(manifest("runs", 5, queue="other"))
    cluster.run(manifest("waits", 9, queue="team"))
    found = cluster.waiting("team")
    assert [row.group for row in found.waiting] == ["ml/waits"]
    assert found.headroom["cpu"] == "3"


def test_the_waiting_list_can_say_when_they_start() -> None:
    cluster = full()
    cluster.run(manifest("first", 4, estimate="10m"), since=60)
    cluster.run(manifest("next", 4, estimate="10m"), since=50)
    cluster.run(manifest("later", 4), since=40)
    cluster.run(manifest("last", 4), since=30)

    def told(go_on: bool, limit: int = 10) -> list[tuple[str, float | None, list[str]]]:
        starts = starts_on(cluster.cluster_index(), cluster.ground(), lambda: go_on)
        rows = cluster.waiting("default", limit=limit, starts=starts).waiting
        return [
            (r.group, r.estimate.in_seconds, r.estimate.waits_for)
            if r.estimate is not None
            else (r.group, None, [])
            for r in rows
        ]

    assert told(True) == [
        ("ml/next", 540, ["ml/first"]),
        ("ml/later", 1140, ["ml/first", "ml/next"]),
        ("ml/last", None, []),
    ], "nothing says when the last but one ends"
    assert told(True, limit=1) == [("ml/next", 540, ["ml/first"])]
    assert [seconds for _, seconds, _ in told(False)] == [None, None, None], "no time was left"


def test_the_line_is_that_of_the_plugins_and_not_of_when_reasons_were_said() -> None:
    cluster = Cluster(queue(), priority_class("high", 9), node("node-1", cpu=1))
    for name, priority in (("late", ""), ("later", ""), ("first", "high")):
        cluster.run(manifest(name, 2, priority=priority))
    cluster.reasons = {key: changed(word, position=1) for key, word in cluster.reasons.items()}
    assert [row.group for row in cluster.waiting("default").waiting] == [
        "ml/first",
        "ml/late",
        "ml/later",
    ]
    found = explain(cluster.cluster_index(), cluster.reasons, "ml/late", cluster.ground())
    assert found is not None
    assert (found.position, found.ahead) == (2, ["ml/first"])


def test_the_tree_has_what_queues_deserve_by_weight_alone() -> None:
    cluster = Cluster(queue("a", weight=3), queue("b", deserved={"gpu": "2"}), nodes(1, cpu=8))
    cluster.run(manifest("one", 8, queue="a"))
    cluster.run(manifest("two", 8, queue="b"))
    tree = queue_tree(cluster.cluster_index(), limit=9, stale="", shares=cluster.shares())
    deserved = {row.name: row.deserved for row in tree.queues}
    assert (deserved["a"]["cpu"], deserved["b"]["cpu"]) == ("6", "2")
    assert deserved["b"]["gpu"] == "2", "what is written and not counted stays"
    assert [row.deserved_written for row in tree.queues] == [{}, {"gpu": "2"}]
    assert tree.basis == "a test"


def test_a_plugin_that_is_not_here_costs_the_tree_its_shares_alone() -> None:
    conf = Conf(tiers=((PluginConf(name="theirs"),),))
    cluster = Cluster(queue("a", deserved={"cpu": "2"}), nodes(1, cpu=8))
    standing = shares_of(cluster.ground().simulation(), conf, basis="a test")
    tree = queue_tree(cluster.cluster_index(), limit=9, stale="", shares=standing)
    assert tree.queues[0].deserved == {"cpu": "2"}
    assert "plugin 'theirs' is not known" in tree.basis


# -- who holds it --------------------------------------------------------------------------------


def other_pod(name: str, *, on: str, cpu: str, owner: str = "") -> Pod:
    made = pod(name, on=on, requests={"cpu": cpu}, scheduler="default-scheduler", controlled=False)
    if not owner:
        return made
    kind, _, of = owner.partition(" ")
    reference = OwnerReference(api_version="apps/v1", kind=kind, name=of, uid=of, controller=True)
    return changed(made, metadata=changed(made.metadata, owner_references=[reference]))


def held(cluster: Cluster, name: str) -> list[tuple[str, int, str]]:
    found = explain(
        cluster.cluster_index(), cluster.reasons, f"{NAMESPACE}/{name}", cluster.ground()
    )
    assert found is not None
    return [(holder.group, holder.pods, str(holder.amounts["cpu"])) for holder in found.holders]


def test_pods_without_a_group_hold_room_too() -> None:
    others = [
        other_pod("web-1", on="node-1", cpu="1", owner="ReplicaSet web"),
        other_pod("web-2", on="node-1", cpu="1", owner="ReplicaSet web"),
        other_pod("agent-x", on="node-1", cpu="500m", owner="DaemonSet agent"),
        other_pod("alone", on="node-1", cpu="250m"),
    ]
    cluster = Cluster(queue(), node("node-1", cpu=4), others)
    cluster.run(manifest("first", 1))
    cluster.run(manifest("waits", 2))
    assert held(cluster, "waits") == [
        ("ReplicaSet ns/web", 2, "2"),
        ("ml/first", 1, "1"),
        ("DaemonSet ns/agent", 1, "500m"),
        ("Pod ns/alone", 1, "250m"),
    ]


def test_room_on_nodes_that_a_job_can_never_use_is_no_use_to_it() -> None:
    cluster = Cluster(
        queue(),
        node("node-1", cpu=4, labels={"pool": "gpu"}),
        node("node-2", cpu=4),
        [other_pod("there", on="node-1", cpu="3"), other_pod("elsewhere", on="node-2", cpu="4")],
    )
    picky = manifest("picky", 2)
    picky["spec"]["tasks"][0]["template"]["spec"]["nodeSelector"] = {"pool": "gpu"}
    cluster.run(picky)
    assert held(cluster, "picky") == [("Pod ns/there", 1, "3")]


def test_in_a_full_root_everybody_below_holds_it_whatever_is_written_as_parent() -> None:
    cluster = Cluster(
        queue("root", capability={"cpu": "4"}), queue("a", parent="root"), queue("b", parent="root"),
        node("node-1", cpu=8), other_pod("elsewhere", on="node-1", cpu="1"),
    )  # fmt: skip
    cluster.run(manifest("one", 3, queue="a"))
    cluster.run(manifest("two", 2, queue="b"))
    assert cluster.reasons["ml/two"].reason.stage is Stage.QUOTA
    cluster.objects = [queue("a") if obj.key == "a" else obj for obj in cluster.objects]
    assert held(cluster, "two") == [("ml/one", 3, "3")]


# -- groups that Volcano's controllers named ------------------------------------------------------


def test_an_estimate_knows_whose_group_it_is() -> None:
    cluster = full()
    cluster.run(manifest("first", 4, estimate="10m"), since=60)
    cluster.run(manifest("waits", 4, estimate="10m"), since=50)
    cluster.run(manifest("later", 4), since=40)
    volcanos(cluster)
    assert cluster.estimate("waits")[::2] == (540, ["ml/first"])
    assert cluster.estimate("later")[2] == ["ml/first", "ml/waits"], "what starts ends in its turn"
    found = explain(cluster.cluster_index(), cluster.reasons, "ml/waits", cluster.ground())
    assert found is not None
    assert [(h.group, h.basis) for h in found.holders] == [
        ("ml/first-u1", "its runningEstimate of 10m")
    ]


def test_pods_are_made_for_a_group_of_another_name() -> None:
    cluster = not_let_in()
    assert volcanos(cluster).estimate("waits")[0] == 540


# -- bounds ---------------------------------------------------------------------------------------


def many_ends(count: int) -> Cluster:
    """A full node of jobs that end one after the other, and one that waits for all of them."""
    cluster = Cluster(queue(), node("node-1", cpu=count))
    for number in range(count):
        cluster.run(manifest(f"j{number:02}x", 1, estimate=f"{number + 2}h"))
    cluster.run(manifest("waits", count))
    return cluster


def test_an_estimate_gives_up_after_so_many_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = many_ends(6)
    assert cluster.estimate("waits")[2] == [f"ml/j{n:02}x" for n in range(6)]
    monkeypatch.setattr(standing_module, "SESSIONS_MIN", 4)
    monkeypatch.setattr(standing_module, "OBJECTS_LOOKED_AT_MAX", 0)
    seconds, basis, waits_for = cluster.estimate("waits")
    assert (seconds, waits_for) == (0.0, [])
    assert basis.startswith("unknown (gave up after 4 sessions; ")


def test_an_estimate_gives_up_after_so_many_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining_module, "ENDS_TRIED_MAX", 2)
    assert many_ends(4).estimate("waits")[1] == (
        "unknown (stopped after the expected ends of 2 jobs, which do not free enough)"
    )


@pytest.mark.parametrize(
    ("sessions", "said"),
    [
        pytest.param(0, "no time was left to simulate it", id="none before it began"),
        pytest.param(3, "no time was left after 2 sessions", id="some, and then none"),
    ],
)
def test_an_estimate_ends_when_there_is_no_more_time(sessions: int, said: str) -> None:
    cluster, left = many_ends(6), iter([True] * sessions)
    found = explain(
        cluster.cluster_index(), cluster.reasons, "ml/waits", cluster.ground(),
        go_on=lambda: next(left, False),
    )  # fmt: skip
    assert found is not None
    assert found.estimate is not None
    assert found.estimate.basis.startswith(f"unknown ({said}")
    assert found.explanation is not None, "the rest of the answer is there"
    assert found.holders_total == 6


def test_a_job_that_runs_needs_no_explanation() -> None:
    cluster = full()
    cluster.run(manifest("runs", 1))
    found = explain(cluster.cluster_index(), cluster.reasons, "ml/runs", cluster.ground())
    assert found is not None
    assert (found.explanation, found.estimate, found.holders) == (None, None, [])
    assert explain(cluster.cluster_index(), {}, "ml/ghost", cluster.ground()) is None


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("train-7", "train"),
        ("train-x8k2p", "train"),
        ("nightly20", "nightly"),
        ("train", "train"),
        ("daily-train", "daily-train"),
        ("daily-clean", "daily-clean"),
        ("daily-clean-4bz9q", "daily-clean"),
    ],
)
def test_names_without_their_number(name: str, stem: str) -> None:
    assert stem_of(name) == stem


def test_a_history_is_of_the_newest() -> None:
    cluster = full()
    for number in range(HISTORY_MAX + 10):
        old = number < HISTORY_MAX  # and first by name
        cluster.done(f"train-{number:03}", 9000 if old else 60, ended=EPOCH - (9000 if old else 0))
    for number in range(HISTORY_MAX):
        cluster.done(f"train-{900 + number}", 60, ended=EPOCH - 10)
    cluster.run(manifest("train-7", 4), since=30)
    [end] = Durations(cluster.cluster_index()).ends(now=EPOCH)
    assert (end.at - EPOCH, end.basis) == (30, f"{HISTORY_MAX} finished jobs train* took 1m0s")
