"""Every service with its own token and its own rules alone, on a real API server with RBAC.

A scenario of everything is run; then the audit log says who asked for what. Nothing may be missing (no
refusal), and nothing may be granted for nothing.
"""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.deployment import Deployment
from tests.integration.deploy.asked import Asked, granted, others, sentences
from tests.integration.deploy.everything import Everything
from tests.integration.deploy.kubectl import Kubectl
from tests.integration.deploy.unused_rules import UNUSED
from tests.integration.stack.running import require

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.kubernetes,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("stack"),
]

NOT_SERVICES = ("pyroclast/e2e ", "pyroclast/stack ")
"""The test itself, and who puts nodes and definitions there."""


def test_a_reason_is_given_only_for_rights_that_exist() -> None:
    assert sentences(set(UNUSED) - granted()) == []


async def test_services_have_the_rights_they_use_and_use_the_rights_they_have(
    tmp_path: Path,
) -> None:
    require("kafka", "redis", "kubernetes", "kwok", "kubectl")
    deployment = Deployment(tmp_path, real=True)
    try:
        await deployment.start()
        kubectl = Kubectl(deployment.ground.kubeconfig, folder=tmp_path)
        await asyncio.to_thread(Everything(kubectl).run)
    finally:
        await deployment.stop()
    plane = deployment.ground.plane
    assert plane is not None
    assert plane.audit_log is not None
    used, refused = Asked(plane.audit_log).rights()
    print("\nrights used:", dict(Counter(right.service for right in used)))
    print("not provoked:", sentences(set(UNUSED) - used))
    assert refused == []
    assert sentences(granted() - used - set(UNUSED)) == [], "granted, never used, without a reason"
    strangers = {agent for agent in others(plane.audit_log) if not agent.startswith(NOT_SERVICES)}
    assert strangers == set(), "every service as itself"
