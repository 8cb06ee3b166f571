"""dependsOn: tasks get pods when the tasks they name are up; the gang grows with them."""

import msgspec

from tests.unit.job_controller.builders import (
    NOW,
    created,
    group_spec,
    job,
    observed,
    pod,
    podgroup,
    task,
)
from vc.job_controller.logic import decide
from vc.messages.effects import PatchObject
from vc.model.api.job import DependsOn
from vc.model.api.kinds import PODGROUPS


def test_a_gang_with_tasks_that_wait_for_others_is_smaller_until_they_are_released() -> None:
    waits = task("w", 2, depends_on=DependsOn(name=["m"]))
    of = job("", tasks=[task("m", 1), waits])
    assert group_spec(of)["minMember"] == 1
    pending = msgspec.structs.replace(of, status=job("Pending").status)
    first = decide(observed(pending, podgroup=podgroup()), now=NOW)
    assert created(first) == ["j-m-0"]
    unready = pod(0, of="m", ready=False)
    assert created(decide(observed(pending, unready, podgroup=podgroup()), now=NOW)) == []
    up = decide(observed(pending, pod(0, of="m"), podgroup=podgroup()), now=NOW)
    assert created(up) == ["j-w-0", "j-w-1"]
    grown = [e for e in up.effects if isinstance(e, PatchObject) and e.kind is PODGROUPS]
    assert grown[0].patch["spec"]["minMember"] == 3
