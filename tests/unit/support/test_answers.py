"""Each answer of the table comes from the real logic: samples are put to admission and to the scheduler.

A sample of the entries runs in `make test`; `make prove-schema` runs every one (`PYROCLAST_PROVE=full`).
"""

import os

import msgspec
import pytest

from tests.unit.admission.objects import ask, world
from tests.unit.support.objects import (
    PATHS,
    admitted,
    is_unsupported,
    made_of,
    plain,
    said,
    sample_of,
    scheduled,
)
from vc.admission.logic.webhook.pod_conditions import ANSWER_CONDITION
from vc.model.api.graft import to_json
from vc.model.api.pod import Pod
from vc.model.support import ENTRIES, Answer, Case, Entry
from vc.podgroup_controller.logic import wanted_spec as group_of_pod
from vc.simcluster.webhooks.match_conditions import holds

FULL = os.environ.get("PYROCLAST_PROVE") == "full"
SCHEDULED = ("PodGroup", "Pod", "Queue")


def _cases() -> list[tuple[Entry, Case, str]]:
    """(entry, case, kind) of every answer that an object can show."""
    found: list[tuple[Entry, Case, str]] = []
    for entry in ENTRIES:
        for case in entry.cases:
            if case.answer is Answer.EFFECT or case.sample is None:
                continue
            carriers = entry.on if entry.scope == "Label or annotation" else (entry.scope,)
            found += [(entry, case, kind) for kind in carriers if kind in PATHS]
    return found


def _sampled() -> list[tuple[Entry, Case, str]]:
    notes = [c for c in _cases() if c[0].scope == "Label or annotation"]
    fields = [c for c in _cases() if c[0].scope != "Label or annotation"]
    return fields + (notes if FULL else notes[:: max(1, len(notes) // 12)])


def _id(case: tuple[Entry, Case, str]) -> str:
    entry, found, kind = case
    return f"{kind} {entry.path or 'as a whole'} {found.when or 'any value'}"


@pytest.mark.parametrize("case", _sampled(), ids=_id)
def test_admission_gives_the_promised_answer(case: tuple[Entry, Case, str]) -> None:
    entry, found, kind = case
    written = sample_of(entry, found, kind)
    response = admitted(kind, written)
    wanted = Answer.WARNING if found.answer is Answer.CONDITION else found.answer
    assert said(response, wanted, found.text), (response.message, response.warnings)


@pytest.mark.parametrize(
    "case",
    [c for c in _cases() if c[1].answer is Answer.CONDITION and c[2] in SCHEDULED],
    ids=_id,
)
def test_the_scheduler_leaves_it_waiting_with_the_condition(case: tuple[Entry, Case, str]) -> None:
    entry, found, kind = case
    reason = scheduled(kind, sample_of(entry, found, kind))
    assert is_unsupported(reason, found.text), reason


@pytest.mark.parametrize(
    "case", [c for c in _cases() if c[1].answer is Answer.CONDITION and c[2] == "Job"], ids=_id
)
def test_a_job_waits_through_its_podgroup_or_its_pods(case: tuple[Entry, Case, str]) -> None:
    entry, found, _ = case
    group, pod = made_of(sample_of(entry, found, "Job"))
    on_pods = entry.path.endswith("topologyPolicy")
    reason = scheduled("Pod", pod) if on_pods else scheduled("PodGroup", group)
    assert reason.code == "Unsupported", reason


@pytest.mark.parametrize("least", [0, 2])
def test_partitions_that_the_whole_gang_implies_do_not_wait(least: int) -> None:
    written = plain("Job")
    policy = {"totalPartitions": 2, "partitionSize": 1, "minPartitions": least}
    written["spec"]["tasks"][0]["partitionPolicy"] = policy
    assert not admitted("Job", written).warnings
    group, _ = made_of(written)
    with pytest.raises(AssertionError, match="was bound"):
        scheduled("PodGroup", group)


def test_the_topology_of_a_plain_pod_waits_through_its_podgroup() -> None:
    written = plain("Pod")
    written["metadata"]["annotations"] = {"volcano.sh/network-topology-mode": "hard"}
    spec = group_of_pod(msgspec.convert(written, Pod), None)
    reason = scheduled("PodGroup", {"metadata": {}, "spec": to_json(spec)})
    assert is_unsupported(reason, "spec.networkTopology: mode hard"), reason


def test_the_topology_of_a_task_template_has_no_effect_and_says_so() -> None:
    written = plain("Job")
    notes = {"volcano.sh/network-topology-mode": "hard"}
    written["spec"]["tasks"][0]["template"]["metadata"] = {"annotations": notes}
    (warning,) = admitted("Job", written).warnings
    assert "has no effect in a vcjob; write spec.networkTopology" in warning


def test_a_kind_that_nothing_runs_can_still_be_changed() -> None:
    """Refused when it is created; one that is there gets a warning."""
    written = plain("CronJob")
    response = ask(PATHS["CronJob"], written, world(), operation="UPDATE", old=written)
    assert response.allowed
    assert "no controller runs CronJobs" in response.warnings[0]


@pytest.mark.parametrize("kind", sorted(PATHS))
def test_a_plain_object_has_only_the_answer_to_its_kind(kind: str) -> None:
    """Nothing is told where there is nothing to tell."""
    whole = [entry for entry in ENTRIES if entry.scope == kind and entry.path == ""]
    response = admitted(kind, plain(kind))
    if not whole:
        assert response.allowed, response.message
        assert not response.warnings
    else:
        assert bool(response.warnings) or not response.allowed


@pytest.mark.parametrize("case", [c for c in _cases() if c[2] == "Pod"], ids=_id)
def test_the_api_server_asks_about_a_pod_that_has_an_answer(case: tuple[Entry, Case, str]) -> None:
    entry, found, kind = case
    expression = ANSWER_CONDITION["expression"]
    assert holds(expression, {"object": sample_of(entry, found, kind)})
    assert not holds(expression, {"object": plain("Pod")})
