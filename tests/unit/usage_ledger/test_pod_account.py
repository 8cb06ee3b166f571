"""The account of one pod: when it begins and ends, what it is charged for, and how two are joined."""

import itertools

import pytest

from vc.model.api import keys
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.pod import (
    Container,
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    TerminatedState,
)
from vc.model.values.times import format_time
from vc.usage_ledger.logic.pod_account import (
    EndSource,
    PodAccount,
    account_of,
    is_charged,
    job_label_differs,
    join,
    last_seen,
    missed,
    queue_hints,
)

BOUND = 1_800_000_000
NOW = BOUND + 500.0


def at(seconds: int) -> str:
    return format_time(BOUND + seconds)


def pod(
    *, phase: str = "Running", finished: int | None = None, node: str = "n", **metadata: object
) -> Pod:
    ended = (
        []
        if finished is None
        else [
            ContainerStatus(
                state=ContainerState(terminated=TerminatedState(finished_at=at(finished)))
            )
        ]
    )
    requests: dict[str, str | int | float] = {
        "cpu": "2",
        "memory": "1Gi",
        "nvidia.com/gpu": "1",
        "ephemeral-storage": "1Gi",
    }
    return Pod(
        metadata=ObjectMeta(name="p", namespace="ns", uid="u", **metadata),  # type: ignore[arg-type]
        spec=PodSpec(
            node_name=node,
            scheduler_name="volcano",
            containers=[Container(resources=ResourceRequirements(requests=requests))],
        ),
        status=PodStatus(
            phase=phase,
            conditions=[
                PodCondition(type="PodScheduled", status="True", last_transition_time=at(0))
            ],
            container_statuses=ended,
        ),
    )


def account(given: Pod) -> PodAccount:
    found = account_of(given, scheduler_names=("volcano",), now=NOW)
    assert found is not None
    return found


def test_a_running_pod_is_charged_from_its_binding_and_has_no_end() -> None:
    found = account(pod())
    assert (found.start, found.end, found.end_source) == (BOUND, None, EndSource.OPEN)
    assert dict(found.requests).keys() == {"cpu", "memory", "nvidia.com/gpu"}


def test_the_end_is_the_one_that_the_containers_report() -> None:
    found = account(pod(phase="Succeeded", finished=60))
    assert (found.end, found.end_source) == (BOUND + 60, EndSource.REPORTED)


def test_an_end_before_the_binding_does_not_count() -> None:
    found = account(pod(phase="Failed", finished=-5))
    assert (found.end, found.end_source) == (int(NOW), EndSource.MISSED)


@pytest.mark.parametrize(
    "other",
    [pod(node=""), Pod(metadata=ObjectMeta(name="p"), spec=PodSpec(node_name="n"))],
    ids=["a pod that is not bound", "a pod of another scheduler without a pod group"],
)
def test_is_not_charged(other: Pod) -> None:
    assert account_of(other, scheduler_names=("volcano",), now=NOW) is None


def test_a_deleted_pod_ends_at_the_latest_with_its_grace_period() -> None:
    terminating = account(pod(deletion_timestamp=at(90), deletion_grace_period_seconds=30))
    assert terminating.deletion_requested_at == BOUND + 60
    assert missed(terminating, BOUND + 200).end == BOUND + 90
    assert missed(terminating, BOUND + 70).end == BOUND + 70
    # It existed when its deletion was requested, whenever it was observed before.
    assert last_seen(terminating, BOUND + 10).end == BOUND + 60


ENDS = [
    account(pod()),
    account(pod(phase="Succeeded", finished=60)),
    missed(account(pod()), BOUND + 80),
    missed(account(pod()), BOUND + 70),
    last_seen(account(pod()), BOUND + 40),
    last_seen(account(pod()), BOUND + 50),
]


@pytest.mark.parametrize("three", list(itertools.combinations(ENDS, 3)))
def test_accounts_are_joined_in_any_order_and_any_number_of_times(
    three: tuple[PodAccount, PodAccount, PodAccount],
) -> None:
    joined = {join(join(a, b), join(c, a)) for a, b, c in itertools.permutations(three)}
    assert len(joined) == 1


def test_the_better_known_end_wins() -> None:
    opened, reported, late, early, seen, seen_later = ENDS
    assert join(late, early).end == BOUND + 70, "it was gone by then"
    assert join(seen, seen_later).end == BOUND + 50, "it still existed"
    assert join(seen_later, late).end == BOUND + 80
    assert join(late, reported).end == BOUND + 60
    assert join(opened, seen).end == BOUND + 40


def test_the_job_is_the_controller_and_labels_are_only_compared() -> None:
    owner = OwnerReference(
        api_version="batch.volcano.sh/v1alpha1", kind="Job", name="train", uid="j", controller=True
    )
    given = pod(
        owner_references=[owner], labels={keys.JOB_NAME: "other", keys.QUEUE_NAME: "expensive"}
    )
    assert account(given).job == "train"
    assert account(given).queue == ""
    assert job_label_differs(given)
    assert queue_hints(given).job_uid == "j"
    assert queue_hints(given).labelled == {"expensive"}


@pytest.mark.parametrize(
    ("resource", "charged"),
    [
        ("cpu", True),
        ("memory", True),
        ("nvidia.com/gpu", True),
        ("pods", False),
        ("hugepages-2Mi", False),
    ],
)
def test_charged_resources(resource: str, charged: bool) -> None:
    assert is_charged(resource) is charged
