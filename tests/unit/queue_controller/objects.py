"""Queues, PodGroups and Commands for the tests of the queue-controller."""

from vc.messages.effects import Effect, PatchObject
from vc.model.api.job import Command
from vc.model.api.kinds import QUEUES
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.scheduling import (
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    Queue,
    QueueSpec,
    QueueStatus,
)
from vc.queue_controller.logic import Observed, decide


def queue(name: str, state: str = "Open", *, parent: str = "root", **notes: str) -> Queue:
    return Queue(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", annotations=dict(notes)),
        spec=QueueSpec(parent="" if name == "root" else parent),
        status=QueueStatus(state=state),
    )


def group(of: str, phase: str, number: int = 0) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=f"{of}-{phase}-{number}", namespace="ns"),
        spec=PodGroupSpec(queue=of),
        status=PodGroupStatus(phase=phase),
    )


def command(action: str, target: str, *, uid: str = "c1", target_uid: str = "") -> Command:
    return Command(
        metadata=ObjectMeta(name=uid, namespace="default", uid=uid),
        action=action,
        target=OwnerReference(
            api_version=QUEUES.api_version,
            kind="Queue",
            name=target,
            uid=target_uid or f"uid-{target}",
        ),
    )


ROOT, DEFAULT = queue("root"), queue("default")


def flat(*queues: Queue, **others: object) -> list[Effect]:
    seen = Observed(queues=(ROOT, DEFAULT, *queues), **others)  # type: ignore[arg-type]
    return [effect for effects in decide(seen) for effect in effects]


def statuses(effects: list[Effect]) -> dict[str, object]:
    return {
        e.name: e.patch["status"]
        for e in effects
        if isinstance(e, PatchObject) and e.subresource == "status"
    }
