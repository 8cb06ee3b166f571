"""AdmissionReviews in and out; what is read live; the webhook configurations."""

import base64
from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import case_id, job, queue, read_queue, task, world
from vc.admission.logic.lookups import Lookups, needed
from vc.admission.logic.review import review
from vc.admission.logic.webhook.endpoints import BY_PATH
from vc.admission.logic.webhook.webhook_configurations import (
    CONFIGURATIONS,
    MUTATING,
    VALIDATING,
    client_service,
    configuration,
    kept,
)
from vc.admission.logic.webhook.wire import (
    ANSWER_BYTES_MAX,
    ReviewError,
    ReviewResponse,
    answer,
    parse_review,
)
from vc.model.api.keys import JDB_MAX_UNAVAILABLE, JDB_MIN_AVAILABLE
from vc.model.api.struct import JsonObject
from vc.simcluster.apply.patches import json_patch as apply_json_patch
from vc.simcluster.webhooks.match_conditions import holds
from vc.validation.json_patch import json_patch
from vc.validation.request import ReviewRequest

JOBS = BY_PATH["/jobs/validate"]


def body(**request: Any) -> bytes:
    asked = {
        "uid": "u",
        "kind": {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"},
        "operation": "CREATE",
        **request,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    return msgspec.json.encode(review)


class Malformed(msgspec.Struct, frozen=True, kw_only=True):
    """A body and what is said of it."""

    says: str
    body: bytes
    error: str


NESTED = b'{"a":' * 5000 + b"1" + b"}" * 5000
MALFORMED = (
    Malformed(says="nothing", body=b"", error="not an AdmissionReview"),
    Malformed(says="no JSON", body=b"hello", error="not an AdmissionReview"),
    Malformed(says="no UTF-8", body=b'"\xff\xfe"', error="not an AdmissionReview"),
    Malformed(says="another kind", body=b'{"kind":"Pod","apiVersion":"v1"}', error="expected kind"),
    Malformed(says="an older version", body=body().replace(b".io/v1", b".io/v1beta1"),
              error="expected kind AdmissionReview of admission.k8s.io/v1"),
    Malformed(says="no request", body=b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
              error="has no request"),
    Malformed(says="no uid", body=body(uid=""), error="uid is missing"),
    Malformed(says="an endless uid", body=body(uid="u" * 1000), error="uid is missing or too long"),
    Malformed(says="another object", body=body(kind={"group": "", "kind": "Pod"}),
              error="answers about Job, not Pod"),
    Malformed(says="an object that is a list", body=body(object=[]), error="Expected `object"),
    Malformed(says="too deep for the parser", body=NESTED * 1, error=""),
    Malformed(says="too deep for us", body=body(object={"a": msgspec.Raw(b"[" * 100 + b"]" * 100)}),
              error="nested deeper than 64"),
    Malformed(says="too large", body=b" " * (3 * 1024 * 1024 + 1), error="at most 3145728"),
)  # fmt: skip


@pytest.mark.parametrize("case", MALFORMED, ids=case_id)
def test_malformed_reviews_get_the_reason(case: Malformed) -> None:
    with pytest.raises(ReviewError) as caught:
        parse_review(case.body, endpoint=JOBS)
    assert case.error in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_refusal_carries_message_and_warnings() -> None:
    request = parse_review(body(), endpoint=JOBS)
    response = ReviewResponse(allowed=False, message="no", warnings=["careful"])
    assert msgspec.json.decode(answer(request, response))["response"] == {
        "uid": "u",
        "allowed": False,
        "warnings": ["careful"],
        "status": {"code": 403, "reason": "Forbidden", "message": "no"},
    }


def test_the_patch_leads_to_the_defaulted_object() -> None:
    raw = {"metadata": {"name": "j"}, "spec": {"tasks": [{"replicas": 2}], "plugins": {"mpi": []}}}
    endpoint = BY_PATH["/jobs/mutate"]
    request = parse_review(body(object=raw), endpoint=endpoint)
    encoded = msgspec.json.decode(answer(request, review(request, world(), endpoint=endpoint)))
    assert encoded["response"]["patchType"] == "JSONPatch"
    patch = msgspec.json.decode(base64.b64decode(encoded["response"]["patch"]))
    patched = apply_json_patch(raw, patch)
    assert patched["spec"]["tasks"][0]["name"] == "default0"
    assert patched["spec"]["plugins"] == {"mpi": [], "ssh": [], "svc": []}


def test_an_answer_that_is_too_large_becomes_a_refusal() -> None:
    request = ReviewRequest(uid="u")
    huge: list[JsonObject] = [{"op": "add", "path": "/x", "value": "v" * ANSWER_BYTES_MAX}]
    encoded = answer(request, ReviewResponse(allowed=True, patch=huge))
    assert len(encoded) <= ANSWER_BYTES_MAX
    assert msgspec.json.decode(encoded)["response"]["allowed"] is False


def test_a_patch_escapes_keys_and_removes() -> None:
    assert json_patch({"a/b": 1, "c~d": 2}, {"a/b": 2}) == [
        {"op": "replace", "path": "/a~1b", "value": 2},
        {"op": "remove", "path": "/c~0d"},
    ]
    assert json_patch({"a": [1, 2]}, {"a": [1]}) == [{"op": "replace", "path": "/a", "value": [1]}]
    assert json_patch({"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A request and what must be read live before it."""

    says: str
    path: str
    object: JsonObject
    operation: str = "CREATE"
    lookups: Lookups = Lookups()


GROUP: JsonObject = {"metadata": {"namespace": "new"}, "spec": {"queue": "default"}}
LOOKS = (
    Look(says="a known open queue", path="/jobs/validate", object=job()),
    Look(says="an unknown queue", path="/jobs/validate", object=job(queue="new"),
         lookups=Lookups(queue="new")),
    Look(says="a closed queue is looked at again", path="/jobs/validate",
         object=job(queue="closed"), lookups=Lookups(queue="closed")),
    Look(says="updates of jobs need nothing", path="/jobs/validate", object=job(queue="new"),
         operation="UPDATE"),
    Look(says="a group in an unknown queue", path="/podgroups/validate",
         object={"spec": {"queue": "new"}}, lookups=Lookups(queue="new")),
    Look(says="a group in an unknown namespace", path="/podgroups/mutate", object=GROUP,
         lookups=Lookups(namespace="new")),
    Look(says="queues are judged on a live list", path="/queues/validate", object=queue("q"),
         lookups=Lookups(all_queues=True)),
    Look(says="pods need nothing", path="/pods/mutate", object={"spec": {}}),
    Look(says="nonsense needs nothing", path="/jobs/validate", object={"spec": [1]}),
)  # fmt: skip


@pytest.mark.parametrize("look", LOOKS, ids=case_id)
def test_what_is_read_live(look: Look) -> None:
    known = world(read_queue(queue("closed"), state="Closed"))
    request = ReviewRequest(uid="u", operation=look.operation, object=look.object)
    assert needed(request, known, endpoint=BY_PATH[look.path]) == look.lookups


def test_webhooks_fail_closed_but_for_pods() -> None:
    clients = {path: client_service("svc", "ns", end) for path, end in BY_PATH.items()}
    for kind in CONFIGURATIONS:
        body = configuration(kind, name="n", clients=clients, scheduler_names=("volcano", "two"))
        for webhook in body["webhooks"]:
            is_pod = "pod.volcano" in webhook["name"]
            assert webhook["failurePolicy"] == ("Ignore" if is_pod else "Fail")
            conditions = [c["name"] for c in webhook.get("matchConditions", [])]
            is_group = "podgroup" in webhook["name"]
            assert bool(conditions) is (is_pod or is_group), "our own changes cost no question"
            assert "namespaceSelector" not in webhook
            assert webhook["clientConfig"]["service"]["path"] in BY_PATH
    names = [w["name"] for w in body["webhooks"]]
    assert names == [f"validate{k}.volcano.sh" for k in (
        "job", "queue", "podgroup", "pod", "jobflow", "jobtemplate", "hypernode", "cronjob", "command")]  # fmt: skip
    condition = configuration(MUTATING, name="n", clients=clients, scheduler_names=("a", "b"))
    assert condition["webhooks"][-1]["matchConditions"][0]["expression"] == (
        "has(object.spec.schedulerName) && object.spec.schedulerName in ['a', 'b']"
    )


@pytest.mark.parametrize(
    ("annotations", "asked"),
    [({}, False), ({"a": "b"}, False), ({JDB_MIN_AVAILABLE: "1"}, True), ({JDB_MAX_UNAVAILABLE: "0"}, True)],
)  # fmt: skip
def test_a_pod_is_validated_only_when_there_is_something_to_validate(
    annotations: dict[str, str], asked: bool
) -> None:
    clients = {path: client_service("svc", "ns", end) for path, end in BY_PATH.items()}
    body = configuration(VALIDATING, name="n", clients=clients, scheduler_names=("volcano",))
    webhook = next(w for w in body["webhooks"] if w["name"] == "validatepod.volcano.sh")
    metadata = {"annotations": annotations} if annotations else {}
    pod = {"metadata": metadata, "spec": {"schedulerName": "volcano"}}
    holding = [holds(c["expression"], {"object": pod}) for c in webhook["matchConditions"]]
    assert all(holding) is asked


def test_the_authority_is_put_in_only_once() -> None:
    found = {"webhooks": [{"name": "a", "clientConfig": {"url": "https://x"}}]}
    webhooks = kept(found, ca_pem=b"pem", steering=None)
    assert webhooks == [{"name": "a", "clientConfig": {"url": "https://x", "caBundle": "cGVt"}}]
    assert kept({"webhooks": webhooks}, ca_pem=b"pem", steering=None) is None


def test_a_job_of_a_thousand_tasks_is_answered_within_bounds() -> None:
    raw = job(tasks=[{**task(f"t{i}"), "name": ""} for i in range(1000)])
    endpoint = BY_PATH["/jobs/mutate"]
    request = ReviewRequest(uid="u", operation="CREATE", object=raw)
    assert len(answer(request, review(request, world(), endpoint=endpoint))) <= ANSWER_BYTES_MAX
