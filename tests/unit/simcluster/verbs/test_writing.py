"""The way of a write: hostile bodies, defaults, admission, races, dry runs."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api, make_pod, pod_named, widget, widgets
from vc.cluster import ClusterError, ConflictError, ForbiddenError, InvalidError, NotFoundError
from vc.cluster.errors import BadRequestError, TooLargeError
from vc.model.api.kinds import CONFIGMAPS, SECRETS, SERVICES
from vc.model.api.struct import Json, JsonObject
from vc.simcluster import Api
from vc.simcluster.apply.patches import JSON_PATCH, MERGE_PATCH
from vc.simcluster.schema.builtin_resources import PODS, PRIORITY_CLASSES
from vc.simcluster.schema.metadata import NESTING_DEPTH_MAX
from vc.simcluster.verbs.admission import WARNINGS, AdmissionRequest


def nested(depth: int) -> Json:
    value: Json = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


class Bad(msgspec.Struct, frozen=True):
    """A body that is refused, and how."""

    id: str
    body: Json
    error: type[ClusterError]
    match: str = ""


BAD = [
    Bad("no object", [], BadRequestError),
    Bad("metadata that is no object", {"metadata": []}, BadRequestError),
    Bad("a name that is no text", {"metadata": {"name": 5}}, BadRequestError),
    Bad("labels that are no texts", {"metadata": {"name": "a", "labels": {"x": 1}}}, BadRequestError),
    Bad("owners without uids", {"metadata": {"name": "a", "ownerReferences": [{"name": "x"}]}}, BadRequestError),
    Bad("no name at all", {"metadata": {}}, InvalidError, "name or generateName is required"),
    Bad("a label key that is none", {"metadata": {"name": "a", "labels": {"a b": "x"}}}, InvalidError, "metadata.labels"),
    Bad("a label value that is none", {"metadata": {"name": "a", "labels": {"a": "x y"}}}, InvalidError, "metadata.labels"),
    Bad("a label value that is too long", {"metadata": {"name": "a", "labels": {"a": "x" * 64}}}, InvalidError, "63 characters"),
    Bad("annotations that are too long", {"metadata": {"name": "a", "annotations": {"a": "x" * 300_000}}}, InvalidError, "metadata.annotations"),
    Bad("nested too deep", {"metadata": {"name": "a"}, "data": nested(NESTING_DEPTH_MAX + 1)}, BadRequestError, "deeper"),
    Bad("nested absurdly deep", {"metadata": {"name": "a"}, "data": nested(5000)}, BadRequestError, "deeper"),
    Bad("too large", {"metadata": {"name": "a"}, "data": {"x": "y" * 4_000_000}}, TooLargeError, "limit is 3145728"),
    Bad("another kind", {"kind": "Secret", "metadata": {"name": "a"}}, BadRequestError, "Kind=ConfigMap"),
    Bad("another namespace", {"metadata": {"name": "a", "namespace": "kube-system"}}, BadRequestError, "does not match the namespace"),
    Bad("a version of its own", {"metadata": {"name": "a", "resourceVersion": "5"}}, BadRequestError, "should not be set"),
]  # fmt: skip


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
async def test_a_bad_body_is_refused_and_nothing_else_stops(case: Bad) -> None:
    api = make_api()
    resource = api.registry.for_kind(CONFIGMAPS)
    before = api.store.version
    with pytest.raises(case.error, match=case.match or None):
        await api.create(resource, case.body, namespace="default")
    assert api.store.version == before
    assert await api.create(resource, {"metadata": {"name": "good"}}, namespace="default")


class BadPod(msgspec.Struct, frozen=True):
    """A pod spec that is refused for one field."""

    id: str
    spec: Json
    match: str


ONE = {"name": "a", "image": "x"}
BAD_PODS = [
    BadPod("no containers", {}, "spec.containers: Required value"),
    BadPod("an empty list of containers", {"containers": []}, "spec.containers: Required value"),
    BadPod("containers that are no list", {"containers": {}}, "spec.containers"),
    BadPod("a container without a name", {"containers": [{"image": "x"}]}, r"spec.containers\[0\].name: Required value"),
    BadPod("a bad container name", {"containers": [{"name": "A_B"}]}, r"spec.containers\[0\].name: Invalid value"),
    BadPod("a container name twice", {"containers": [ONE, ONE]}, r"spec.containers\[1\].name: Duplicate value"),
    BadPod("a quantity that is none", {"containers": [{**ONE, "resources": {"requests": {"cpu": "lots"}}}]}, r"spec.containers\[0\].resources.requests\[cpu\]"),
    BadPod("a negative quantity", {"containers": [{**ONE, "resources": {"limits": {"cpu": "-1"}}}]}, "greater than or equal to 0"),
    BadPod("resources that are no object", {"containers": [{**ONE, "resources": 3}]}, "resources"),
    BadPod("an unknown restart policy", {"containers": [ONE], "restartPolicy": "Sometimes"}, "spec.restartPolicy: Unsupported value"),
    BadPod("a spec that is no object", [], "spec: Required value"),
]  # fmt: skip


@pytest.mark.parametrize("case", BAD_PODS, ids=lambda case: case.id)
async def test_a_bad_pod_is_refused(case: BadPod) -> None:
    body = {"metadata": {"name": "p"}, "spec": case.spec}
    with pytest.raises(InvalidError, match=case.match) as caught:
        await make_api().create(PODS, body, namespace="default")
    assert caught.value.message.startswith('Pod "p" is invalid')
    assert caught.value.details["causes"]


class Changed(msgspec.Struct, frozen=True):
    """A change of a pod's spec, and whether it is taken."""

    id: str
    patch: JsonObject
    taken: bool


CHANGES = [
    Changed("labels change", {"metadata": {"labels": {"a": "b"}}}, taken=True),
    Changed("an image changes", {"spec": {"containers": [{"name": "main", "image": "new"}]}}, taken=True),
    Changed("a toleration is added", {"spec": {"tolerations": [{"key": "x"}]}}, taken=True),
    Changed("a deadline is set", {"spec": {"activeDeadlineSeconds": 5}}, taken=True),
    Changed("the node is not set by hand", {"spec": {"nodeName": "n"}}, taken=False),
    Changed("requests stay", {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "9"}}}]}}, taken=False),
    Changed("the scheduler stays", {"spec": {"schedulerName": "other"}}, taken=False),
    Changed("gates are not added", {"spec": {"schedulingGates": [{"name": "x"}]}}, taken=False),
]  # fmt: skip


@pytest.mark.parametrize("case", CHANGES, ids=lambda case: case.id)
async def test_little_of_a_pod_may_change(case: Changed) -> None:
    api = make_api()
    await api.create(PODS, make_pod("p"), namespace="default")

    async def change() -> JsonObject:
        return await api.patch(
            PODS, case.patch, content_type="application/strategic-merge-patch+json", name="p",
            namespace="default",
        )  # fmt: skip

    if case.taken:
        assert int((await change())["metadata"]["resourceVersion"]) == api.store.version
    else:
        with pytest.raises(InvalidError, match="Forbidden"):
            await change()


async def test_init_containers_and_limits_count_for_quality_of_service() -> None:
    api = make_api()
    body = make_pod("p")
    body["spec"]["containers"][0]["resources"] = {}
    made = await api.create(PODS, body, namespace="default")
    assert made["status"]["qosClass"] == "BestEffort"
    burst = await api.create(PODS, make_pod("q"), namespace="default")
    assert burst["status"]["qosClass"] == "Burstable"


async def test_a_global_default_class_gives_its_priority() -> None:
    api = make_api()
    body: JsonObject = {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True}
    await api.create(PRIORITY_CLASSES, body)
    made = await api.create(PODS, make_pod("p"), namespace="default")
    assert (made["spec"]["priority"], made["spec"]["priorityClassName"]) == (7, "usual")
    body = make_pod("q")
    body["spec"]["priority"] = 5
    with pytest.raises(ForbiddenError, match="must not be provided"):
        await api.create(PODS, body, namespace="default")


async def test_the_systems_classes_are_there() -> None:
    api = make_api()
    values = {
        name: api.get(PRIORITY_CLASSES, name=name)["value"]
        for name in ("system-cluster-critical", "system-node-critical")
    }
    assert list(values.values()) == [2_000_000_000, 2_000_001_000]


async def test_plain_texts_of_a_secret_are_kept_encoded() -> None:
    api = make_api()
    resource = api.registry.for_kind(SECRETS)
    body = {"metadata": {"name": "s"}, "stringData": {"a": "hello"}, "data": {"b": "eA=="}}
    made = await api.create(resource, body, namespace="default")
    assert made["data"] == {"b": "eA==", "a": "aGVsbG8="}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


async def test_services_get_addresses_of_their_own() -> None:
    api = make_api()
    resource = api.registry.for_kind(SERVICES)
    bodies = [{"metadata": {"name": f"s{n}"}, "spec": {"ports": [{"port": 80}]}} for n in range(3)]
    made = [await api.create(resource, body, namespace="default") for body in bodies]
    assert len({one["spec"]["clusterIP"] for one in made}) == 3
    assert made[0]["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]


async def test_a_custom_resource_is_replaced_with_its_version_only() -> None:
    api = make_api()
    made = await api.create(widgets(api), widget("w"), namespace="default")
    del made["metadata"]["resourceVersion"]
    with pytest.raises(InvalidError, match="must be specified for an update"):
        await api.replace(widgets(api), made, name="w", namespace="default")


async def test_what_the_server_owns_cannot_be_written() -> None:
    api = make_api()
    made = await api.create(widgets(api), widget("w"), namespace="default")
    patch = {
        "metadata": {
            "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 99,
            "deletionTimestamp": "2001-01-01T00:00:00Z",
        }
    }  # fmt: skip
    same = await api.patch(
        widgets(api), patch, content_type=MERGE_PATCH, name="w", namespace="default"
    )
    assert same == made


async def test_a_subresource_that_is_not_served_is_not_found() -> None:
    api = make_api()
    await api.create(widgets(api), widget("w"), namespace="default")
    with pytest.raises(NotFoundError, match="could not find the requested resource"):
        await api.patch(
            widgets(api), {}, content_type=MERGE_PATCH, name="w", namespace="default",
            subresource="scale",
        )  # fmt: skip


async def test_a_failed_test_of_a_json_patch_writes_nothing() -> None:
    api = make_api()
    await api.create(widgets(api), widget("w"), namespace="default")
    before = api.store.version
    patch = [
        {"op": "replace", "path": "/spec/size", "value": 2},
        {"op": "test", "path": "/spec/colour", "value": "blue"},
    ]
    with pytest.raises(InvalidError):
        await api.patch(widgets(api), patch, content_type=JSON_PATCH, name="w", namespace="default")
    assert api.store.version == before


async def test_dry_runs_show_and_do_nothing() -> None:
    api = make_api()
    resource = widgets(api)
    shown = await api.create(resource, widget("x"), namespace="default", dry_run=True)
    assert shown["spec"]["colour"] == "red"
    await api.create(resource, widget("w"), namespace="default")
    before = api.store.version
    patched = await api.patch(
        resource, {"spec": {"size": 5}}, content_type=MERGE_PATCH, name="w", namespace="default",
        dry_run=True,
    )  # fmt: skip
    assert patched["spec"]["size"] == 5
    gone = await api.delete(resource, name="w", namespace="default", dry_run=True)
    assert gone["status"] == "Success"
    assert api.store.version == before


async def test_a_collection_is_deleted_by_selector() -> None:
    api = make_api()
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        await api.create(PODS, make_pod(name, labels={"app": app}), namespace="default")
    gone = await api.delete_collection(PODS, namespace="default", label_selector="app=web")
    assert len(gone.items) == 2
    assert pod_named(api, "b")


class Asked:
    """An admission that keeps its questions and may change, refuse or dawdle."""

    def __init__(
        self,
        change: Callable[[JsonObject], None] = lambda _obj: None,
        *,
        refuse: str = "",
        meanwhile: Callable[[], Any] | None = None,
    ) -> None:
        self.questions: list[tuple[str, str, str]] = []
        self._change = change
        self._refuse = refuse
        self._meanwhile = meanwhile

    async def mutate(self, request: AdmissionRequest) -> JsonObject:
        self.questions.append(("mutate", request.operation, request.name))
        assert request.object is not None
        self._change(request.object)
        if self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
        await asyncio.sleep(0)
        return request.object

    async def validate(self, request: AdmissionRequest) -> list[str]:
        self.questions.append(("validate", request.operation, request.name))
        if self._refuse:
            raise ForbiddenError(self._refuse)
        return ["mind the gap"]


async def test_admission_is_asked_about_every_write() -> None:
    api = make_api()
    api.admission = asked = Asked()
    warnings: list[str] = []
    WARNINGS.set(warnings)
    await api.create(widgets(api), widget("w"), namespace="default")
    await api.patch(
        widgets(api), {"spec": {"size": 2}}, content_type=MERGE_PATCH, name="w", namespace="default"
    )
    await api.delete(widgets(api), name="w", namespace="default")
    assert asked.questions == [
        ("mutate", "CREATE", "w"), ("validate", "CREATE", "w"),
        ("mutate", "UPDATE", "w"), ("validate", "UPDATE", "w"),
        ("validate", "DELETE", "w"),
    ]  # fmt: skip
    assert warnings == ["mind the gap"] * 3


async def test_what_admission_writes_is_pruned_defaulted_and_validated() -> None:
    api = make_api()
    api.admission = Asked(lambda obj: obj["spec"].update(unknown=1, colour=None, size=3))
    made = await api.create(widgets(api), widget("w"), namespace="default")
    assert made["spec"] == {"size": 3, "colour": "red"}
    api.admission = Asked(lambda obj: obj["spec"].update(size=-3))
    with pytest.raises(InvalidError, match=r"spec\.size"):
        await api.create(widgets(api), widget("x"), namespace="default")


async def test_admission_can_refuse() -> None:
    api = make_api()
    api.admission = Asked(refuse="not on a Friday")
    with pytest.raises(ForbiddenError, match="not on a Friday"):
        await api.create(widgets(api), widget("w"), namespace="default")
    assert api.list(widgets(api)).items == []


async def overtaken(version: str = "") -> JsonObject:
    """A patch during whose admission somebody else writes."""
    api = make_api()
    made = await api.create(widgets(api), widget("w"), namespace="default")

    def relabel(obj: JsonObject) -> None:
        obj["metadata"]["labels"] = {"by": "another"}

    def write() -> None:
        api.lifecycle.edit(widgets(api), ("default", "w"), relabel)

    api.admission = Asked(meanwhile=write)
    meta = {"resourceVersion": made["metadata"]["resourceVersion"]} if version else {}
    return await api.patch(
        widgets(api), {"metadata": meta, "spec": {"size": 9}}, content_type=MERGE_PATCH, name="w",
        namespace="default",
    )  # fmt: skip


async def test_a_patch_that_was_overtaken_is_applied_to_what_is_there_now() -> None:
    patched = await overtaken()
    assert patched["spec"]["size"] == 9
    assert patched["metadata"]["labels"] == {"by": "another"}


async def test_a_patch_with_a_version_that_was_overtaken_conflicts() -> None:
    with pytest.raises(ConflictError):
        await overtaken(version="pinned")


async def test_finalizers_are_not_added_to_what_is_ending() -> None:
    api: Api = make_api()
    body = widget("w")
    body["metadata"]["finalizers"] = ["example.com/one"]
    await api.create(widgets(api), body, namespace="default")
    await api.delete(widgets(api), name="w", namespace="default")
    patch = {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}}
    with pytest.raises(InvalidError, match="no new finalizers can be added"):
        await api.patch(
            widgets(api), patch, content_type=MERGE_PATCH, name="w", namespace="default"
        )


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"gracePeriodSeconds": "soon"}, BadRequestError),
        ({"propagationPolicy": "Sideways"}, BadRequestError),
        ({"preconditions": {"uid": "other"}}, ConflictError),
    ],
)
async def test_bad_delete_options_are_refused(
    options: JsonObject, error: type[ClusterError]
) -> None:
    api = make_api()
    await api.create(widgets(api), widget("w"), namespace="default")
    with pytest.raises(error):
        await api.delete(widgets(api), name="w", namespace="default", options=options)
    assert api.get(widgets(api), name="w", namespace="default")
