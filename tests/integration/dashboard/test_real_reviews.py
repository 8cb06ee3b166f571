"""TokenReview and SubjectAccessReview of a real kube-apiserver, with the rights of the chart."""

from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.builders.contexts import memory_context
from tests.integration.parts.require import require
from vc.clock import LoopClock, ServerClock
from vc.cluster.kubernetes import KubernetesCluster, connect
from vc.dashboard.callers import Callers, DeniedError
from vc.model.api.kinds import JOBS, NAMESPACES, QUEUES, Kind
from vc.model.api.meta import ApiObject
from vc.model.api.struct import JsonObject
from vc.parts import ControlPlane
from vc.parts.users import User

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(300)]

RIGHTS: Final = Path(__file__).parents[3] / "deploy" / "helm" / "pyroclast" / "services.yaml"
GROUP: Final = "rbac.authorization.k8s.io"


def rbac(kind: str, *, namespaced: bool) -> Kind:
    plural = f"{kind.lower()}s"
    return Kind(
        short=plural, group=GROUP, version="v1", kind=kind, plural=plural,
        namespaced=namespaced, type=ApiObject,
    )  # fmt: skip


CLUSTER_ROLES = rbac("ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = rbac("ClusterRoleBinding", namespaced=False)
ROLE_BINDINGS = rbac("RoleBinding", namespaced=True)


async def grant(
    admin: KubernetesCluster, user: str, rules: list[JsonObject], *, namespace: str = ""
) -> None:
    """Rights of one user, in one namespace or everywhere."""
    name = f"{user}-{namespace or 'all'}"
    await admin.create(CLUSTER_ROLES, {"metadata": {"name": name}, "rules": rules})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
    }
    kind = ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS
    await admin.create(kind, binding, namespace=namespace)


def may_list(kind: Kind) -> JsonObject:
    return {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["list"]}


async def test_callers_of_a_real_api_server_see_what_they_may_list() -> None:
    require("kubernetes", own=True)
    users = [User(name=name) for name in ("dashboard", "ann", "eve")]
    async with ControlPlane(users=users) as plane:
        admin = await connect(service="test", kubeconfig=str(plane.kubeconfig))
        for name in ("ml", "hidden"):
            await admin.create(NAMESPACES, {"metadata": {"name": name}})
        await grant(admin, "dashboard", yaml.safe_load(RIGHTS.read_text())["dashboard"]["rules"])
        await grant(admin, "ann", [may_list(QUEUES)])
        await grant(admin, "ann", [may_list(JOBS)], namespace="ml")

        clock = ServerClock(LoopClock())
        own = await connect(
            service="dashboard",
            kubeconfig=str(plane.kubeconfig_for("dashboard")),
            clock=clock,
            on_date=clock.observe,
        )
        context = memory_context("dashboard", clock=clock, cluster=own)
        callers = Callers(context, anonymous_sees_all=False)

        ann = await callers.identify(plane.users["ann"].token)
        assert ann.name == "ann"
        scope = await callers.scope(ann, ("hidden", "ml"))
        assert (scope.everything, scope.namespaces) == (False, frozenset({"ml"}))
        await callers.check_queues(ann)

        eve = await callers.identify(plane.users["eve"].token)
        assert (await callers.scope(eve, ("hidden", "ml"))).namespaces == frozenset()
        with pytest.raises(DeniedError, match="may not list queues"):
            await callers.check_queues(eve)

        chief = await callers.identify(plane.admin.token)
        assert (await callers.scope(chief, ())).everything

        for token in ("no-such-token", ""):
            with pytest.raises(DeniedError) as denied:
                await callers.identify(token)
            assert denied.value.status == 401

        without_rights = await connect(
            service="dashboard", kubeconfig=str(plane.kubeconfig_for("eve"))
        )
        stranger = Callers(
            memory_context("dashboard", clock=clock, cluster=without_rights),
            anonymous_sees_all=False,
        )
        with pytest.raises(DeniedError, match="cannot be checked") as refused:
            await stranger.identify(plane.users["ann"].token)
        assert refused.value.status == 503

        assert clock.known, "every answer of the API server says what time it is"
        assert abs(clock.ahead_seconds) < 2
        assert await own.date() > 0
        for cluster in (admin, own, without_rights):
            await cluster.close()
