"""spec.queue of a vcjob: which queues accept jobs."""

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
    job,
    queue,
    read_queue,
    world,
)

KNOWN = world(
    read_queue(queue("parent")),
    read_queue(queue("child", parent="parent")),
    read_queue(queue("closed"), state="Closed"),
    read_queue(queue("closing"), state="Closing"),
    read_queue(queue("fresh")),
)


CASES = (
    Case(says="an unknown queue is refused", object=job(queue="nowhere"),
         refused='spec.queue: "nowhere": there is no such queue; create it first'),
    Case(says="root takes no jobs", object=job(queue="root"), refused="root takes no jobs"),
    Case(says="a queue with children takes no jobs", object=job(queue="parent"),
         refused="only leaf queues take jobs; name one of: child"),
    Case(says="a leaf queue takes jobs", object=job(queue="child")),
    Case(says="a closed queue takes no jobs", object=job(queue="closed"),
         refused="the queue is Closed and takes no new jobs; open it with 'vcctl queue operate"),
    Case(says="a closing queue takes no jobs", object=job(queue="closing"), refused="is Closing"),
    Case(says="a queue without a state counts as open", object=job(queue="fresh")),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobs/validate", case.object, KNOWN), case.refused)
