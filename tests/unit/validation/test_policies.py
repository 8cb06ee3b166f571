"""Lifecycle policies of jobs and tasks: events, exit codes and actions that admission accepts."""

from typing import Any

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
    job,
    task,
    world,
)
from vc.model.compat import Compat


def with_policies(*policies: Any) -> Any:
    return job(policies=list(policies))


EVENT = {"event": "PodFailed", "action": "RestartJob"}


CASES = (
    Case(says="a policy of event and action is accepted", object=with_policies(EVENT)),
    Case(says="event and exit code exclude each other",
         object=with_policies({**EVENT, "exitCode": 1}), refused="has both an event and an exitCode"),
    Case(says="a policy needs an event or exit code", object=with_policies({"action": "RestartJob"}),
         refused="spec.policies[0]: needs an event, events or an exitCode"),
    Case(says="internal events are refused",
         object=with_policies({"event": "OutOfSync", "action": "RestartJob"}),
         refused='spec.policies[0].event: "OutOfSync": is internal'),
    Case(says="unknown events are refused",
         object=with_policies({"event": "PodSad", "action": "RestartJob"}), refused="is no event"),
    Case(says="internal actions are refused",
         object=with_policies({"event": "PodFailed", "action": "SyncJob"}), refused="is no action"),
    Case(says="an event may appear once",
         object=with_policies(EVENT, {"events": ["PodFailed"], "action": "AbortJob"}),
         refused="is already used by spec.policies[0]"),
    Case(says="any event must be alone",
         object=with_policies(EVENT, {"event": "*", "action": "AbortJob"}),
         refused="'*' covers every event, so it must be alone; remove PodFailed"),
    Case(says="any event may stand beside exit codes",
         object=with_policies({"event": "*", "action": "AbortJob"},
                              {"exitCode": 3, "action": "RestartJob"})),
    Case(says="exit code 0 is refused", object=with_policies({"exitCode": 0, "action": "AbortJob"}),
         refused="0 is success"),
    Case(says="a policy with an exit code needs a known action",
         object=with_policies({"exitCode": 3, "action": "SyncJob"}),
         refused='spec.policies[0].action: "SyncJob": is no action'),
    Case(says="a policy with an exit code needs an action", object=with_policies({"exitCode": 3}),
         refused='spec.policies[0].action: "": is no action'),
    Case(says="an exit code may appear once",
         object=with_policies({"exitCode": 3, "action": "AbortJob"},
                              {"exitCode": 3, "action": "RestartJob"}),
         refused="is already used by spec.policies[0]"),
    Case(says="task policies follow the same rules",
         object=job(tasks=[task(policies=[{"exitCode": 0}])]),
         refused="spec.tasks[0].policies[0].exitCode"),
    Case(says="JobUnknown is another name of Unknown",
         object=with_policies({"event": "JobUnknown", "action": "RestartJob"})),
    Case(says="JobUnknown and Unknown are one event",
         object=with_policies({"event": "JobUnknown", "action": "RestartJob"},
                              {"event": "Unknown", "action": "AbortJob"}),
         refused="is already used"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobs/validate", case.object), case.refused)


def test_upstream_mode_knows_no_other_name_of_unknown() -> None:
    known = world(compat=Compat.UPSTREAM)
    raw = with_policies({"event": "JobUnknown", "action": "RestartJob"})
    assert_answers(ask("/jobs/validate", raw, known), "is no event")


def test_upstream_mode_warns_of_an_unknown_action_of_an_exit_code() -> None:
    """Volcano accepts such a policy and ignores it."""
    raw = with_policies({"exitCode": 3, "action": "SyncJob"})
    response = ask("/jobs/validate", raw, world(compat=Compat.UPSTREAM))
    assert_answers(response, "")
    assert any("spec.policies[0].action: is no action" in text for text in response.warnings)
