"""A small cluster around one job: applies effects as an API server would, and lets pods live.

Just enough to drive `decide` through anything: writes with preconditions, graceful deletion, pods
that come up, end, fail or vanish, decisions on old views, and crashes between two effects.
"""

from typing import Final

import msgspec

from tests.unit.job_controller.builders import NOW, owner
from vc.job_controller.logic import Decision, ObservedJob, decide
from vc.messages.effects import CreateObject, DeleteObject, Effect, PatchObject
from vc.model.api.graft import apply_merge_patch, to_json
from vc.model.api.job import Command, Job
from vc.model.api.kinds import COMMANDS, JOBS, PODGROUPS, PODS
from vc.model.api.meta import ObjectMeta
from vc.model.api.pod import ContainerState, ContainerStatus, Pod, PodStatus, TerminatedState
from vc.model.api.scheduling import PodGroup, PodGroupStatus, Queue
from vc.model.values.times import format_time

_ENDED: Final = ("Succeeded", "Failed")


class World:
    """Everything that exists."""

    def __init__(self, job: Job) -> None:
        self.now = NOW
        self.versions = 100
        self.job: Job | None = job
        self.pods: dict[str, Pod] = {}
        self.podgroup: PodGroup | None = None
        self.commands: dict[str, Command] = {}
        self.phases: list[str] = [job.status.state.phase]
        self.made = 0

    # -- looking ---------------------------------------------------------------------------------

    def look(self, *, counters_due: bool = True) -> ObservedJob | None:
        """What a view shows that has caught up."""
        if self.job is None:
            return None
        return ObservedJob(
            job=self.job,
            manifest=self.job,
            pods=tuple(self.pods.values()),
            podgroup=self.podgroup,
            commands=tuple(self.commands.values()),
            queue=Queue(metadata=ObjectMeta(name="default")),
            counters_due=counters_due,
        )

    # -- applying --------------------------------------------------------------------------------

    def run(self, seen: ObservedJob, *, effects_max: int = 10_000) -> Decision:
        """Decide on what was seen, and apply until the process dies or a write is refused."""
        decision = decide(seen, now=self.now)
        for effect in decision.effects[:effects_max]:
            if not self.apply(effect):
                break
        return decision

    def apply(self, effect: Effect) -> bool:
        """Whether it could be applied."""
        self.versions += 1
        match effect:
            case CreateObject() if effect.kind is PODS:
                return self._create_pod(effect)
            case CreateObject() if effect.kind is PODGROUPS:
                return self._create_group(effect)
            case PatchObject() if effect.kind is JOBS:
                return self._patch_job(effect)
            case PatchObject() if effect.kind is PODGROUPS:
                return self.podgroup is not None and self.podgroup.metadata.uid == effect.uid
            case DeleteObject() if effect.kind is PODS:
                self._delete_pod(effect)
            case DeleteObject() if effect.kind is PODGROUPS:
                if self.podgroup is not None and self.podgroup.metadata.uid == effect.uid:
                    self.podgroup = None
            case DeleteObject() if effect.kind is COMMANDS:
                self.commands.pop(effect.uid, None)
            case DeleteObject() if effect.kind is JOBS:
                self.job = None
        return True

    def _create_pod(self, effect: CreateObject) -> bool:
        known = self.pods.get(effect.name)
        if known is not None:
            ours = known.metadata.owner_references[0].uid == effect.owner_uid
            return ours and known.metadata.deletion_timestamp is None
        self.made += 1
        metadata = effect.body["metadata"]
        self.pods[effect.name] = Pod(
            metadata=ObjectMeta(
                name=effect.name,
                namespace="ns",
                uid=f"pod-{self.made}",
                creation_timestamp=format_time(self.now),
                annotations=metadata["annotations"],
                owner_references=[owner(effect.owner_uid)],
            ),
            status=PodStatus(phase="Pending"),
        )
        return True

    def _create_group(self, effect: CreateObject) -> bool:
        if self.podgroup is not None:
            return True
        self.made += 1
        self.podgroup = PodGroup(
            metadata=ObjectMeta(
                name=effect.name,
                namespace="ns",
                uid=f"pg-{self.made}",
                annotations=effect.body["metadata"]["annotations"],
                owner_references=[owner(effect.owner_uid)],
            ),
            spec=msgspec.convert(effect.body["spec"], type=type(PodGroup().spec)),
        )
        return True

    def _patch_job(self, effect: PatchObject) -> bool:
        if self.job is None or self.job.metadata.resource_version != effect.resource_version:
            return False
        body = apply_merge_patch(to_json(self.job), effect.patch)
        body["metadata"]["resourceVersion"] = str(self.versions)
        self.job = msgspec.convert(body, type=Job)
        if self.job.status.state.phase != self.phases[-1]:
            self.phases.append(self.job.status.state.phase)
        return True

    def _delete_pod(self, effect: DeleteObject) -> None:
        known = self.pods.get(effect.name)
        if known is None or known.metadata.uid != effect.uid:
            return
        if known.status.phase in _ENDED:
            del self.pods[effect.name]
            return
        metadata = msgspec.structs.replace(
            known.metadata,
            deletion_timestamp=format_time(self.now + 30),
            deletion_grace_period_seconds=30,
        )
        self.pods[effect.name] = msgspec.structs.replace(known, metadata=metadata)

    # -- life ------------------------------------------------------------------------------------

    def let_in(self, phase: str = "Inqueue") -> None:
        """What the scheduler says of the gang."""
        if self.podgroup is not None:
            self.podgroup = msgspec.structs.replace(
                self.podgroup, status=PodGroupStatus(phase=phase)
            )

    def move(self, name: str, phase: str, exit_code: int = 0) -> None:
        """A pod's own life: nothing comes after its end."""
        known = self.pods[name]
        if known.status.phase in _ENDED or (phase == "Pending" and known.status.phase != "Pending"):
            return
        state = None
        if phase in _ENDED:
            ended = TerminatedState(exit_code=exit_code, finished_at=format_time(self.now))
            state = ContainerState(terminated=ended)
        status = PodStatus(
            phase=phase,
            container_statuses=[ContainerStatus(name="main", ready=True, state=state)],
        )
        self.pods[name] = msgspec.structs.replace(known, status=status)

    def vanish(self, name: str) -> None:
        """Its node is gone, or a user deleted it; or its grace period is over."""
        del self.pods[name]

    def order(self, action: str) -> None:
        """A user creates a Command."""
        self.made += 1
        uid = f"command-{self.made}"
        self.commands[uid] = Command(
            metadata=ObjectMeta(
                name=uid, namespace="ns", uid=uid, creation_timestamp=format_time(self.now)
            ),
            action=action,
            target=owner(),
        )
