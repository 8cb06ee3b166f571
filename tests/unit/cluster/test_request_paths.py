"""A name in a request path never addresses more than one object."""

import pytest

from vc.cluster import NotFoundError, Preconditions
from vc.cluster.kubernetes_request import (
    collection_path,
    delete_options,
    object_path,
    with_preconditions,
)
from vc.model.api.kinds import PODS, QUEUES


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
def test_a_name_no_object_can_have_is_not_found(name: str) -> None:
    with pytest.raises(NotFoundError):
        object_path(PODS, "default", name)


@pytest.mark.parametrize("namespace", [".", "..", "a/b", "a%2fb"])
def test_an_impossible_namespace_is_not_found(namespace: str) -> None:
    with pytest.raises(NotFoundError):
        collection_path(PODS, namespace)


def test_paths_are_quoted() -> None:
    assert (
        object_path(PODS, "ns", "a b?c", "status") == "/api/v1/namespaces/ns/pods/a%20b%3Fc/status"
    )
    assert object_path(QUEUES, "", "q") == "/apis/scheduling.volcano.sh/v1beta1/queues/q"
    assert collection_path(PODS, "") == "/api/v1/pods"


def test_preconditions_go_into_a_patch_without_touching_it() -> None:
    patch = {"metadata": {"labels": {"a": "b"}}}
    held = with_preconditions(patch, Preconditions(uid="u", resource_version="7"))
    assert held == {"metadata": {"labels": {"a": "b"}, "uid": "u", "resourceVersion": "7"}}
    assert patch == {"metadata": {"labels": {"a": "b"}}}


@pytest.mark.parametrize("none", [None, Preconditions()])
def test_no_precondition_adds_nothing(none: Preconditions | None) -> None:
    assert with_preconditions({"spec": {}}, none) == {"spec": {}}
    assert delete_options(none, None) == {}


def test_no_grace_is_not_the_default_grace() -> None:
    assert delete_options(Preconditions(uid="u"), 0) == {
        "preconditions": {"uid": "u"},
        "gracePeriodSeconds": 0,
    }
