"""Every amount that the API answers is a Kubernetes quantity: nobody outside knows our integer units."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.unit.dashboard.cluster import full
from tests.unit.dashboard.cluster import manifest as manifest_of
from tests.unit.scheduling.objects import gang, node, queue
from tests.unit.scheduling.recording import Recording
from tests.unit.scheduling.world import World
from vc.dashboard.logic.answers.openapi import openapi
from vc.dashboard.logic.answers.reason_answers import (
    AmountAnswer,
    ReasonAnswer,
    UnblockAnswer,
    answered_reason,
    answered_record,
)
from vc.dashboard.logic.explaining import explain
from vc.messages.sessions import Amount, Reason, Stage, Unblock

DOCUMENT = msgspec.json.decode(msgspec.json.encode(openapi()))
AMOUNTS = ("needed", "available", "missing")
RESOURCE_LISTS = ("amounts", "missing", "headroom", "deserved", "allocated", "capacity", "request")

REASON = Reason(
    stage=Stage.GANG,
    code="NotEnoughResources",
    sentence="no",
    needed_pods=8,
    amounts=[
        Amount(resource="pods", needed=8000, available=0, missing=8000),
        Amount(resource="nvidia.com/gpu", needed=76_800, available=500, missing=76_300),
        Amount(resource="memory", needed=16 * 2**30, available=1025, missing=16 * 2**30 - 1025),
    ],
    unblock=Unblock(
        action="add-room",
        pods=8,
        amounts={"cpu": 1500, "memory": 2**30},
        also=[Unblock(action="add-room", pods=1, amounts={"cpu": 2000})],
    ),
)


def test_a_reason_says_eight_pods_and_not_eight_thousand() -> None:
    answered = answered_reason(REASON)
    assert answered.amounts == [
        AmountAnswer(resource="pods", needed="8", available="0", missing="8"),
        AmountAnswer(
            resource="nvidia.com/gpu", needed="76800m", available="500m", missing="76300m"
        ),
        AmountAnswer(resource="memory", needed="16Gi", available="1025", missing="17179868159"),
    ]
    assert isinstance(answered.unblock, UnblockAnswer)
    assert answered.unblock.amounts == {"cpu": "1500m", "memory": "1Gi"}
    assert answered.unblock.also[0].amounts == {"cpu": "2"}
    assert answered.sentence == REASON.sentence
    assert ReasonAnswer.__struct_fields__ == Reason.__struct_fields__


def numbers_for_amounts(answer: Any, at: str = "") -> Iterator[str]:
    """Where an amount is a number in place of a quantity."""
    if isinstance(answer, list):
        for part in answer:
            yield from numbers_for_amounts(part, at)
    if not isinstance(answer, dict):
        return
    for name, value in answer.items():
        place = f"{at}.{name}"
        if name in AMOUNTS and "resource" in answer and not isinstance(value, str):
            yield place
        if name in RESOURCE_LISTS and isinstance(value, dict):
            yield from (f"{place}.{r}" for r, a in value.items() if not isinstance(a, str))
        yield from numbers_for_amounts(value, place)


def test_no_answer_about_a_job_that_waits_has_an_amount_without_a_unit() -> None:
    cluster = full()
    cluster.run(manifest_of("first", 3, estimate="10m"))
    cluster.run(manifest_of("waits", 3))
    explained = explain(cluster.cluster_index(), cluster.reasons, "ml/waits", cluster.ground())
    answers = [explained, cluster.waiting("default"), cluster.ask(manifest_of("more", 9))]
    decoded = [msgspec.json.decode(msgspec.json.encode(answer)) for answer in answers]
    assert decoded[0]["explanation"]["amounts"]
    assert decoded[1]["waiting"][0]["unblock"]["amounts"]
    assert decoded[2]["jobs"][0]["reason"]["amounts"]
    assert list(numbers_for_amounts(decoded)) == []


def test_no_record_of_a_session_has_an_amount_without_a_unit() -> None:
    recording = Recording(World(queue(), node("n", cpu=4), gang("w", 2, cpu=9)))
    recording.session()
    [entry] = recording.entries
    answered = msgspec.json.decode(msgspec.json.encode(answered_record(entry.record)))
    assert answered["reasons"][0]["reason"]["amounts"]
    assert list(numbers_for_amounts(answered)) == []
    assert list(numbers_for_amounts(msgspec.to_builtins(entry.record))), "on the bus they are units"


def test_the_description_says_so() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for name in AMOUNTS:
        assert schemas["AmountAnswer"]["properties"][name]["type"] == "string"
    assert "Amount" not in schemas
    assert "Unblock" not in schemas
    assert "Reason" not in schemas
