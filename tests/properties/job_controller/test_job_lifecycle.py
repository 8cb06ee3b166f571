"""Whatever happens to a job, its life is one the table allows.

Hypothesis drives pods, commands, the scheduler, crashes between any two effects and decisions on
old views at one job. After every decision the invariants are looked at; at the end the faults stop,
and the job has to come to rest.
"""

import random
from itertools import pairwise

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from tests.properties.job_controller.world import World
from tests.unit.job_controller.builders import job, policy, task
from vc.job_controller.logic import ObservedJob
from vc.job_controller.logic.observation import observe
from vc.job_controller.logic.phases import ALLOWED, FINAL
from vc.model.api import keys
from vc.model.api.job import LifecyclePolicy

SETTLING_STEPS_MAX = 60

_EVENTS = ["PodFailed", "PodEvicted", "TaskCompleted", "Unknown", "*"]
_ACTIONS = ["RestartJob", "RestartTask", "RestartPod", "AbortJob", "TerminateJob", "CompleteJob"]
_ORDERS = ["RestartJob", "AbortJob", "ResumeJob", "TerminateJob", "CompleteJob"]
_policies = st.lists(
    st.builds(policy, st.sampled_from(_ACTIONS), st.sampled_from(_EVENTS)), max_size=2
)


class JobLife(RuleBasedStateMachine):
    """One job and its surroundings."""

    @initialize(
        replicas=st.lists(st.integers(0, 3), min_size=1, max_size=2),
        of_task=_policies,
        of_job=_policies,
        max_retry=st.integers(1, 3),
        min_available=st.integers(0, 3),
    )
    def begin(
        self,
        replicas: list[int],
        of_task: list[LifecyclePolicy],
        of_job: list[LifecyclePolicy],
        max_retry: int,
        min_available: int,
    ) -> None:
        tasks = [
            task(f"t{position}", count, policies=of_task if position == 0 else [])
            for position, count in enumerate(replicas)
        ]
        self.world = World(
            job(
                "",
                tasks=tasks,
                policies=of_job,
                max_retry=max_retry,
                min_available=min(min_available, sum(replicas)),
            )
        )
        self.old: ObservedJob | None = None

    # -- the controller --------------------------------------------------------------------------

    @rule(due=st.booleans())
    def decides(self, due: bool) -> None:
        seen = self.world.look(counters_due=due)
        if seen is not None:
            self.world.run(seen)

    @rule(effects=st.integers(0, 4))
    def dies_between_two_effects(self, effects: int) -> None:
        seen = self.world.look()
        if seen is not None:
            self.world.run(seen, effects_max=effects)

    @rule()
    def looks_and_is_held_up(self) -> None:
        self.old = self.world.look()

    @precondition(lambda self: self.old is not None)
    @rule()
    def decides_on_what_it_saw_then(self) -> None:
        assert self.old is not None
        self.world.run(self.old)
        self.old = None

    # -- others ---------------------------------------------------------------------------------

    @rule(phase=st.sampled_from(["Inqueue", "Running", "Running", "Unknown", "Pending"]))
    def scheduler_speaks(self, phase: str) -> None:
        self.world.let_in(phase)

    @precondition(lambda self: self.world.pods)
    @rule(
        pick=st.randoms(use_true_random=False),
        phase=st.sampled_from(["Running", "Running", "Succeeded", "Failed"]),
    )
    def pod_lives(self, pick: random.Random, phase: str) -> None:
        self.world.move(pick.choice(sorted(self.world.pods)), phase, 1 if phase == "Failed" else 0)

    @precondition(lambda self: self.world.pods)
    @rule(pick=st.randoms(use_true_random=False))
    def pod_vanishes(self, pick: random.Random) -> None:
        self.world.vanish(pick.choice(sorted(self.world.pods)))

    @rule(action=st.sampled_from(_ORDERS))
    def somebody_orders(self, action: str) -> None:
        if len(self.world.commands) < 3:
            self.world.order(action)

    # -- what always holds -----------------------------------------------------------------------

    @invariant()
    def phases_change_as_the_table_allows(self) -> None:
        for before, after in pairwise(self.world.phases):
            assert after in ALLOWED[before], f"{before} → {after}"

    @invariant()
    def retries_stay_within_the_budget(self) -> None:
        of = self.world.job
        assert of is None or of.status.retry_count <= of.spec.max_retry

    # -- the end ---------------------------------------------------------------------------------

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.come_to_rest()

    def come_to_rest(self) -> None:
        """Without faults everything ends: pods succeed, deletions finish, and nothing is left to do."""
        world = self.world
        for _ in range(SETTLING_STEPS_MAX):
            seen = world.look()
            if seen is None:
                return
            decision = world.run(seen)
            self.phases_change_as_the_table_allows()
            self.retries_stay_within_the_budget()
            self._counters_equal_the_pods()
            if not self._world_moves() and not decision.effects:
                break
        else:
            raise AssertionError(f"no rest after {SETTLING_STEPS_MAX} decisions: {world.phases}")
        self._has_ended()

    def _world_moves(self) -> bool:
        """Pods succeed, deletions finish, the scheduler lets the gang in; whether anything moved."""
        world, moved = self.world, False
        for name in sorted(world.pods):
            if world.pods[name].metadata.deletion_timestamp is not None:
                world.vanish(name)
                moved = True
            elif world.pods[name].status.phase not in ("Succeeded", "Failed"):
                world.move(name, "Succeeded")
                moved = True
        if world.podgroup is not None and world.podgroup.status.phase != "Running":
            world.let_in("Running")
            moved = True
        return moved

    def _counters_equal_the_pods(self) -> None:
        seen = self.world.look()
        if seen is None or seen.job.status.state.phase in FINAL:
            return
        again = self.world.run(seen)
        if again.effects:
            return  # it is still moving
        counted, status = observe(seen).counted, seen.job.status
        assert (counted.pending, counted.running, counted.succeeded, counted.failed) == (
            status.pending,
            status.running,
            status.succeeded,
            status.failed,
        )

    def _has_ended(self) -> None:
        of = self.world.job
        assert of is not None
        phase = of.status.state.phase
        replicas = sum(t.replicas for t in of.spec.tasks)
        assert phase in (*FINAL, "Aborted") or replicas == 0, phase
        for pod in self.world.pods.values():
            assert pod.status.phase in ("Succeeded", "Failed"), "no pod outlives its job"
            if phase != "Failed":
                version = int(pod.metadata.annotations[keys.JOB_VERSION])
                assert version == of.status.version, "no pod of an older version survives"


TestJobLife = JobLife.TestCase
TestJobLife.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
