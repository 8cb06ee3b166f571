"""Refusals quote what they refuse; content that is not published is removed before a refusal is reported."""

import asyncio
from typing import Any

import pytest

from tests.simulation.stack import Stack
from tests.simulation.test_key_material import everything_on
from tests.unit.job_controller.stack import on_stack
from tests.unit.job_controller.test_manifests import SECRET, secret_job
from vc.cluster import InvalidError
from vc.job_controller.logic.redaction import conceal
from vc.messages.effects import CreateObject, DeleteObject
from vc.model.api.kinds import CLAIMS, EVENTS, PODS, Kind
from vc.model.api.struct import JsonObject

CONTAINER: JsonObject = {
    "name": "main",
    "image": "example.com/work:1",
    "args": ['pass"word\nsecond line', "yes"],
    "env": [{"name": "TOKEN", "value": "token-123"}, {"name": "SHORT", "value": "token"}],
}


def create(kind: Kind = PODS, **body: Any) -> CreateObject:
    return CreateObject(kind=kind, namespace="ns", name="p", body=body)


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ("main: TOKEN is token-123", "main: TOKEN is <redacted>"),
        ('Invalid value: "pass\\"word\\nsecond line"', 'Invalid value: "<redacted>"'),
        ("example.com/work:1 is not allowed, yes", "example.com/work:1 is not allowed, yes"),
        ("exceeded quota: pods", "exceeded quota: pods"),
        ("annotation secret-note", "annotation <redacted>"),
        ("", ""),
    ],
)
def test_values_that_are_the_pods_own_are_taken_out(text: str, published: str) -> None:
    annotations = {"example.com/x": "secret-note", "volcano.sh/y": "annotation"}
    pod = create(metadata={"annotations": annotations}, spec={"containers": [CONTAINER]})
    assert conceal(text, pod) == published


def test_of_a_claim_all_of_its_spec_and_of_other_effects_nothing() -> None:
    claim = create(CLAIMS, metadata={}, spec={"dataSource": {"name": "my-secret"}})
    assert conceal("no my-secret", claim) == "no <redacted>"
    gone = DeleteObject(kind=PODS, namespace="ns", name="p", uid="u")
    assert conceal("no my-secret", gone) == "no my-secret"


def test_a_refused_pod_is_reported_without_its_secret(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(stack: Stack) -> None:
        real = stack.cluster.create

        async def create(kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
            if kind is PODS:
                raise InvalidError(f'policy "no-passwords" refuses {body["spec"]["containers"]}')
            return await real(kind, body, namespace=namespace)

        stack.cluster.create = create  # type: ignore[method-assign]
        await stack.submit(secret_job("a", replicas=2))
        await stack.until(
            lambda: stack.job("a").status.state.reason == "WriteRefused",
            seconds=30,
            what="reported",
        )
        await asyncio.sleep(5)
        said = stack.job("a").status.state.message
        assert 'policy "no-passwords" refuses' in said
        assert "<redacted>" in said
        events = b"".join(stack.api.list(stack.api.registry.for_kind(EVENTS)).items)
        assert b"no-passwords" in events
        for place in (said.encode(), events, await everything_on(stack.bus), caplog.text.encode()):
            assert SECRET.encode() not in place

    with caplog.at_level("DEBUG"):
        on_stack(scenario)


def test_an_unusable_template_is_reported_without_its_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(stack: Stack) -> None:
        job = secret_job("a", replicas=2)
        container = job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
        container["env"] = [SECRET]  # no variable, but a text
        await stack.submit(job)
        await asyncio.sleep(20)
        context: Any = stack.running["job-controller"]
        rows = str(context._context.problems.rows())
        assert "no pod can be made of its template" in rows
        for place in (rows.encode(), await everything_on(stack.bus), caplog.text.encode()):
            assert SECRET.encode() not in place

    with caplog.at_level("DEBUG"):
        on_stack(scenario)
