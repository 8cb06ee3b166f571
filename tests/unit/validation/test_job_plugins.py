"""spec.plugins of a vcjob: known plugins, and the tasks that they need."""

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
    job,
)

CASES = (
    Case(says="an mpi job needs its master task", object=job(plugins={"mpi": ["--master=boss"]}),
         refused='spec.plugins[mpi]: "boss": the master task is missing'),
    Case(says="an mpi job with its master is accepted",
         object=job(plugins={"mpi": ["--master=worker"]})),
    Case(says="an unknown plugin is refused", object=job(plugins={"magic": []}),
         refused='spec.plugins[magic]: "magic": there is no such plugin; known are env'),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobs/validate", case.object), case.refused)
