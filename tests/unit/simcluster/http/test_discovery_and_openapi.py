"""Discovery and OpenAPI, made from the registry."""

import msgspec
import pytest

from vc.simcluster.http import discovery, openapi
from vc.simcluster.http.errors import NotAcceptableError
from vc.simcluster.schema.registry import Registry, load_crds


@pytest.fixture(name="registry")
def _registry() -> Registry:
    return Registry(crds=load_crds())


def test_both_forms_of_discovery_list_the_same_resources(registry: Registry) -> None:
    lists = [
        discovery.aggregated(registry, core=core, version="v2")["items"] for core in (True, False)
    ]
    aggregated = {
        (item["metadata"].get("name", ""), version["version"], resource["resource"])
        for items in lists
        for item in items
        for version in item["versions"]
        for resource in version["resources"]
    }
    legacy = set()
    for group, versions in discovery.grouped(registry).items():
        for version in versions:
            listed = discovery.resource_list(registry, group, version)
            assert listed is not None
            legacy |= {
                (group, version, row["name"])
                for row in listed["resources"]
                if "/" not in row["name"]
            }
    assert aggregated == legacy
    assert ("batch.volcano.sh", "v1alpha1", "jobs") in legacy


def test_a_crd_can_be_explained(registry: Registry) -> None:
    document = openapi.document(registry, "batch.volcano.sh", "v1alpha1")
    assert document is not None
    schema = document["components"]["schemas"]["sh.volcano.batch.v1alpha1.Job"]
    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"}
    ]
    assert "tasks" in schema["properties"]["spec"]["properties"]


def test_every_patch_says_that_fields_are_validated(registry: Registry) -> None:
    for group, version in {(r.group, r.version) for r in registry.all()}:
        document = openapi.document(registry, group, version)
        assert document is not None
        patches = [path["patch"] for path in document["paths"].values() if "patch" in path]
        assert patches
        for patch in patches:
            assert "fieldValidation" in {p["name"] for p in patch["parameters"]}


def test_the_hash_of_a_document_changes_with_its_content(registry: Registry) -> None:
    before = openapi.index(registry)["paths"]
    registry.remove_crd("cronjobs.batch.volcano.sh")
    after = openapi.index(registry)["paths"]
    changed = {place for place in before if before[place] != after[place]}
    assert changed == {"apis/batch.volcano.sh/v1alpha1"}


def test_the_old_document_is_json_or_protobuf_or_nothing() -> None:
    json, kind = openapi.swagger("application/json")
    assert (msgspec.json.decode(json)["swagger"], kind) == ("2.0", "application/json")
    protobuf, kind = openapi.swagger(openapi.SWAGGER_PROTOBUF_TYPE)
    assert protobuf.startswith(b"\x0a\x032.0")
    assert kind == openapi.SWAGGER_PROTOBUF_TYPE
    with pytest.raises(NotAcceptableError):
        openapi.swagger("text/html")
