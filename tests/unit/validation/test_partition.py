"""partitionPolicy of tasks: partitions and minimums that fit the replicas."""

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
    Case(says="partitions multiply to the replicas",
         object=job(tasks=[task(replicas=4, partitionPolicy={"totalPartitions": 3, "partitionSize": 2})]),
         refused="totalPartitions 3 x partitionSize 2 = 6 must equal replicas 4"),
    Case(says="minPartitions fit minAvailable",
         object=job(tasks=[task(replicas=4, minAvailable=3, partitionPolicy={
             "totalPartitions": 2, "partitionSize": 2, "minPartitions": 1})]),
         refused="must equal minPartitions 1 x partitionSize 2 = 2"),
    Case(says="fitting partitions are accepted",
         object=job(tasks=[task(replicas=4, minAvailable=2, partitionPolicy={
             "totalPartitions": 2, "partitionSize": 2, "minPartitions": 1})])),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobs/validate", case.object), case.refused)
