"""What would unblock a job does, asked as `vcctl simulate` asks it.

Every scenario of the scheduler that leaves a job waiting is asked about through `what_if`, the function
behind `POST /api/v1/what-if`.
"""

from typing import Final

import msgspec

from tests.unit.dashboard.asking import Asking
from tests.unit.scheduling.scenarios.scenario import Scenario, play
from tests.unit.scheduling.scenarios.test_scenarios import EACH_WAIT
from vc.dashboard.logic.answers.future_answers import WhatIf, WhatIfJob, WhatIfRequest
from vc.dashboard.logic.answers.reason_answers import AmountAnswer, ReasonAnswer, UnblockAnswer
from vc.dashboard.logic.what_if import Ground, what_if
from vc.messages.sessions import Amount, JobReason, Reason, Unblock
from vc.model.values.quantity import parse_resources

CANNOT_BE_ASKED: Final = {
    "create-peer": "pod peer belongs to no job",
    "wait": "nothing but time helps",
}
"""Proposals that no question expresses: a pod that somebody else places, and time after a failed bind,
of which only the scheduler itself knows. (`wait` for a job or for pods that leave is a job dropped.)"""


@EACH_WAIT
def test_a_what_if_with_what_would_unblock_it_places_it(scenario: Scenario, job: str) -> None:
    played, wait = play(scenario), scenario.waits[job]
    world, told = played.world, played.waiting[job]
    ground = Ground(
        objects=world.objects(), jobs={}, conf=world.conf, basis="", now=world.now, stale=""
    )
    others = {found.group: found for found in played.waiting.values()}
    asking = Asking(world.objects(), now=world.now)
    for _ in (wait.stage, *wait.then):
        asking.propose(told, wait, others)
        why_not = asking.why_not()
        if why_not:
            assert why_not == CANNOT_BE_ASKED[wait.unblock]
            return
        found = _of(_answer(ground, asking.question()), told.group)
        if found is not None and found.runs:
            assert found.placements_total > 0
            return
        told = _next(ground, asking, told)
    raise AssertionError(f"it still waits: {told.reason.sentence}")


def _next(ground: Ground, asking: Asking, told: JobReason) -> JobReason:
    """Why it would wait then: asked with the job itself."""
    found = _of(_answer(ground, asking.question(about=told.group)), told.group)
    assert found is not None
    assert found.reason is not None
    return JobReason(
        group=told.group, uid=told.uid, queue=told.queue, position=1, reason=in_units(found.reason)
    )


def in_units(answered: ReasonAnswer) -> Reason:
    """As the scheduler said it: nothing was lost on the way to quantities."""
    fields = msgspec.structs.asdict(answered)
    fields["amounts"] = [_units_of(amount) for amount in answered.amounts]
    fields["unblock"] = _unblock_in_units(answered.unblock) if answered.unblock else None
    return Reason(**fields)


def _unblock_in_units(answered: UnblockAnswer) -> Unblock:
    fields = msgspec.structs.asdict(answered)
    fields["amounts"] = parse_resources(answered.amounts)
    fields["also"] = [_unblock_in_units(other) for other in answered.also]
    return Unblock(**fields)


def _units_of(amount: AmountAnswer) -> Amount:
    fields = msgspec.structs.asdict(amount)
    for name in ("needed", "available", "missing"):
        fields[name] = parse_resources({amount.resource: fields[name]})[amount.resource]
    return Amount(**fields)


def _answer(ground: Ground, question: WhatIfRequest) -> WhatIf:
    answer = what_if(ground, question)
    assert answer.refused == []
    return answer


def _of(answer: WhatIf, group: str) -> WhatIfJob | None:
    return next((job for job in answer.jobs if f"{job.namespace}/{job.name}" == group), None)
