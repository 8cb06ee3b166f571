"""Whatever comes in: no exception but the declared one, and a bounded answer."""

import string
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.admission.objects import cron_like, job, queue, world
from vc.admission.logic.lookups import needed
from vc.admission.logic.review import review
from vc.admission.logic.webhook.endpoints import BY_PATH, ENDPOINTS, Endpoint
from vc.admission.logic.webhook.wire import ANSWER_BYTES_MAX, ReviewError, answer, parse_review
from vc.model.api.struct import Json
from vc.simcluster.apply.patches import json_patch as apply_json_patch
from vc.validation.json_patch import json_patch
from vc.validation.offline import validate_documents
from vc.validation.request import ReviewRequest
from vc.validation.rules import defaulted

KNOWN = world()

WORDS = st.sampled_from(
    [
        "spec",
        "metadata",
        "name",
        "namespace",
        "tasks",
        "replicas",
        "minAvailable",
        "template",
        "containers",
        "resources",
        "requests",
        "limits",
        "cpu",
        "memory",
        "queue",
        "plugins",
        "policies",
        "event",
        "events",
        "exitCode",
        "action",
        "dependsOn",
        "status",
        "state",
        "annotations",
        "parent",
        "weight",
        "capability",
        "deserved",
        "guarantee",
        "resource",
        "members",
        "selector",
        "regexMatch",
        "pattern",
        "schedule",
        "flows",
        "targets",
        "timeZone",
        "jobTemplate",
        "volumes",
        "mountPath",
        "partitionPolicy",
        "networkTopology",
        "mpi",
        "pytorch",
        "--master=x",
        "*",
        "1",
        "-1",
        "1Gi",
        "1e400",
        "@every",
        "volcano.sh/hierarchy",
    ]
)
TEXTS = (
    WORDS | st.text(max_size=20) | st.text(alphabet=string.ascii_lowercase + "-./%", max_size=80)
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
JSON: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=25,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=5)
PLACES = st.lists(st.integers(min_value=0, max_value=6), min_size=1, max_size=7)
FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def mutated(raw: Any, places: list[int], value: Json) -> Any:
    """A valid object with one value somewhere inside replaced: nearer to the rules than noise."""
    if not places or not isinstance(raw, dict | list) or not raw:
        return value
    if isinstance(raw, list):
        at = places[0] % len(raw)
        return [*raw[:at], mutated(raw[at], places[1:], value), *raw[at + 1 :]]
    key = sorted(raw)[places[0] % len(raw)]
    return {**raw, key: mutated(raw[key], places[1:], value)}


def judge(raw: Any, old: Any, endpoint: Endpoint, operation: str) -> None:
    try:
        asked = {
            "uid": "u",
            "kind": {"group": endpoint.kind.group, "kind": endpoint.kind.kind},
            "operation": operation,
            "object": raw,
            "oldObject": old,
        }
        review_body = {
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked,
        }  # fmt: skip
        request = parse_review(msgspec.json.encode(review_body), endpoint=endpoint)
    except ReviewError:
        return
    needed(request, KNOWN, endpoint=endpoint)
    response = review(request, KNOWN, endpoint=endpoint)
    assert len(answer(request, response)) <= ANSWER_BYTES_MAX
    assert response.allowed or response.message
    if response.patch:
        patched = apply_json_patch(request.object or {}, response.patch)
        assert json_patch(patched, defaulted_again(request, patched, endpoint)) == []


def defaulted_again(request: ReviewRequest, raw: Any, endpoint: Endpoint) -> Any:
    return defaulted(msgspec.structs.replace(request, object=raw), KNOWN, kind=endpoint.kind)


@FUZZ
@given(
    raw=OBJECTS | st.none(),
    old=OBJECTS | st.none(),
    endpoint=st.sampled_from(ENDPOINTS),
    operation=st.sampled_from(["CREATE", "UPDATE", "DELETE", "CONNECT", ""]),
)
def test_noise_is_answered(raw: Any, old: Any, endpoint: Endpoint, operation: str) -> None:
    judge(raw, old, endpoint, operation)


@FUZZ
@given(
    start=st.sampled_from(
        [
            (
                "/jobs/validate",
                job(plugins={"pytorch": ["--master=m"]}, policies=[{"exitCode": 1}]),
            ),
            ("/jobs/mutate", job(plugins={"mpi": []}, volumes=[{"mountPath": "/d"}])),
            ("/queues/validate", queue("q", parent="root", capability={"cpu": 1}, deserved={})),
            ("/queues/mutate", queue("q", guarantee={"resource": {"cpu": 1}})),
            ("/cronjobs/validate", cron_like()),
        ]
    ),
    places=PLACES,
    value=JSON,
    operation=st.sampled_from(["CREATE", "UPDATE"]),
)
def test_objects_broken_in_one_place_are_answered(
    start: tuple[str, Any], places: list[int], value: Json, operation: str
) -> None:
    path, raw = start
    judge(mutated(raw, places, value), raw, BY_PATH[path], operation)


@FUZZ
@given(body=st.binary(max_size=400), endpoint=st.sampled_from(ENDPOINTS))
def test_random_bytes_are_no_review(body: bytes, endpoint: Endpoint) -> None:
    with pytest.raises(ReviewError) as caught:
        parse_review(body, endpoint=endpoint)
    assert len(str(caught.value)) < 1000


@FUZZ
@given(documents=st.lists(JSON, max_size=4))
def test_documents_are_reported_on(documents: list[Json]) -> None:
    validate_documents(documents)
