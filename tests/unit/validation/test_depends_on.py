"""dependsOn of tasks: existing tasks and no cycle."""

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
    job,
    task,
)

CASES = (
    Case(says="dependsOn names existing tasks",
         object=job(tasks=[task("a", dependsOn={"name": ["ghost"]})]),
         refused="task 'a' depends on a task that is not in this job, so it is not a DAG"),
    Case(says="dependsOn has no cycle",
         object=job(tasks=[task("a", dependsOn={"name": ["b"]}),
                           task("b", dependsOn={"name": ["a"]})]),
         refused="is not a DAG: a → b → a"),
    Case(says="dependsOn in order is accepted",
         object=job(tasks=[task("a"), task("b", dependsOn={"name": ["a"]})])),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobs/validate", case.object), case.refused)
