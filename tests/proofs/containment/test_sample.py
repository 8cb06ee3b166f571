"""A sample of the proof; `make prove-containment` runs all of it. And values that Hypothesis thinks of."""

import logging
import os
from typing import Any, Final

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.proofs.containment.inputs import manifest_of
from tests.proofs.containment.objects import change
from tests.proofs.containment.proof import BOUNDARIES, TOTAL, feed_all
from vc.admission.logic.review import review
from vc.admission.logic.webhook.endpoints import ENDPOINTS
from vc.admission.logic.webhook.wire import answer
from vc.messages.codec import CodecError, decode, wire_headers
from vc.model.api.kinds import PODS, WATCHED
from vc.model.api.pod import Pod
from vc.model.values import bounded, bounded_yaml
from vc.scheduling.cache.cluster_cache import ClusterCache
from vc.validation.request import CREATE, ReviewRequest
from vc.validation.world import World
from vc.watcher.logic import Decoder, UnreadableError

SEEDS: Final = 6
FIRST: Final = int.from_bytes(os.urandom(3)) if os.environ.get("PYROCLAST_EXPLORE") else 7_000_000
"""Other inputs than those the full proof begins with."""

quickly: Final = settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
numbers: Final = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values: Final = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_no_input_escapes(seed: int) -> None:
    logging.disable(logging.CRITICAL)
    try:
        outcome = feed_all(seed, part=0.25)
    finally:
        logging.disable(logging.NOTSET)
    assert outcome.failures == ()
    assert set(outcome.counts) == {TOTAL, *(boundary.name for boundary in BOUNDARIES)}


@quickly
@given(st.binary(max_size=200), st.sampled_from(WATCHED))
def test_any_bytes_are_a_fact_or_a_codec_error(data: bytes, kind: Any) -> None:
    try:
        decode(data, into=kind.type, headers=wire_headers())
    except CodecError:
        return


@quickly
@given(values, values, values, st.sampled_from(WATCHED))
def test_any_manifest_is_projected_or_unreadable(
    spec: Any, status: Any, meta: Any, kind: Any
) -> None:
    body = {**manifest_of(kind), "spec": spec, "status": status, "metadata": meta}
    try:
        Decoder(kind).decode(msgspec.json.encode(body))
    except UnreadableError:
        return


@quickly
@given(st.dictionaries(st.sampled_from(["nodeAffinity", "podAffinity", "podAntiAffinity"]), values))
def test_any_affinity_is_a_row_or_a_problem_of_the_pod(affinity: Any) -> None:
    body = manifest_of(PODS)
    body["spec"]["affinity"] = affinity
    try:
        pod = Decoder(PODS).decode(msgspec.json.encode(body))
    except UnreadableError:
        return
    assert isinstance(pod, Pod)
    cache = ClusterCache(("volcano",))
    cache.apply(change(PODS, None, pod))
    row = cache.pods[pod.key]
    assert dict(row.shape.request)["cpu"] == 2001, "what it asks for counts, whatever else it says"
    cache.apply(change(PODS, pod, None))
    assert cache.pods == {}


@quickly
@given(values, values, st.sampled_from(ENDPOINTS))
def test_any_object_is_answered_by_admission(spec: Any, metadata: Any, endpoint: Any) -> None:
    request = ReviewRequest(
        uid="u", operation=CREATE, object={"spec": spec, "metadata": metadata, "kind": "x"}
    )
    reviewed = review(request, World(), endpoint=endpoint)
    assert answer(request, reviewed)
    assert reviewed.fault == "", "the rules themselves answer, not the net below them"


@quickly
@given(st.text(max_size=300) | st.binary(max_size=300))
def test_any_text_is_yaml_or_a_yaml_error(text: Any) -> None:
    try:
        bounded_yaml.load(text)
    except bounded_yaml.YamlError:
        return


@quickly
@given(values | st.text(alphabet="0123456789+-.eE:TZhms", max_size=6000))
def test_any_value_is_read_or_is_none(value: Any) -> None:
    for read in (
        bounded.read_integer, bounded.read_count, bounded.read_decimal, bounded.read_time,
        bounded.read_duration, bounded.read_version,
    ):  # fmt: skip
        read(value)
    bounded.read_quantity(value, decimals=3)
    assert len(bounded.shown(value)) < 400
