"""spec.volumes of a vcjob: mount paths and claims."""

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
    job,
)

CASES = (
    Case(says="a volume needs a mount path",
         object=job(volumes=[{"mountPath": "", "volumeClaimName": "data"}]),
         refused="spec.volumes[0].mountPath: is required"),
    Case(says="mount paths are unique",
         object=job(volumes=[{"mountPath": "/d", "volumeClaimName": "a"},
                             {"mountPath": "/d", "volumeClaimName": "b"}]),
         refused='spec.volumes[1].mountPath: "/d": is used twice'),
    Case(says="a volume names one claim only",
         object=job(volumes=[{"mountPath": "/d", "volumeClaimName": "a", "volumeClaim": {}}]),
         refused="has volumeClaim and volumeClaimName"),
    Case(says="a volume needs a claim", object=job(volumes=[{"mountPath": "/d"}]),
         refused="needs volumeClaim (to make one) or volumeClaimName"),
    Case(says="a claim's name is a subdomain",
         object=job(volumes=[{"mountPath": "/d", "volumeClaimName": "A B"}]),
         refused="must be a DNS-1123 subdomain"),
    Case(says="a volume with a claim is accepted",
         object=job(volumes=[{"mountPath": "/d", "volumeClaim": {"accessModes": []}}])),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobs/validate", case.object), case.refused)
