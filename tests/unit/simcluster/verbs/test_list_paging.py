"""Lists in pages: limit, continue, the consistent snapshot, and tokens that expired.

https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
"""

import base64

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api
from vc.cluster.errors import BadRequestError, GoneError
from vc.model.api.kinds import CONFIGMAPS
from vc.simcluster import Api, ObjectPage
from vc.simcluster.store.resource import Resource


async def filled(count: int) -> tuple[Api, Resource]:
    """Objects `c0` to `c8` in `default`; every second one has the label `even`."""
    api = make_api()
    resource = api.registry.for_kind(CONFIGMAPS)
    for number in range(count):
        labels = {"even": "yes"} if number % 2 == 0 else {}
        body = {"metadata": {"name": f"c{number}", "labels": labels}}
        await api.create(resource, body, namespace="default")
    return api, resource


def names(page: ObjectPage) -> list[str]:
    return [msgspec.json.decode(item)["metadata"]["name"] for item in page.items]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A list of some objects with a limit, and its pages with the counts that remain."""

    id: str
    count: int
    limit: int
    labels: str = ""
    fields: str = ""
    pages: list[list[str]]
    remaining: list[int]


CASES = [
    Case(
        id="no limit is one page", count=3, limit=0, pages=[["c0", "c1", "c2"]], remaining=[0]
    ),
    Case(
        id="a limit of one more than there is", count=3, limit=4,
        pages=[["c0", "c1", "c2"]], remaining=[0],
    ),
    Case(
        id="a limit that is exactly met has no further page", count=3, limit=3,
        pages=[["c0", "c1", "c2"]], remaining=[0],
    ),
    Case(
        id="the last page may be shorter", count=3, limit=2,
        pages=[["c0", "c1"], ["c2"]], remaining=[1, 0],
    ),
    Case(
        id="pages of one", count=3, limit=1,
        pages=[["c0"], ["c1"], ["c2"]], remaining=[2, 1, 0],
    ),
    Case(id="an empty list is one empty page", count=0, limit=2, pages=[[]], remaining=[0]),
    Case(
        id="with a label selector the count that remains is unknown", count=5, limit=2,
        labels="even=yes", pages=[["c0", "c2"], ["c4"]], remaining=[0, 0],
    ),
    Case(
        id="with a field selector the count that remains is unknown", count=5, limit=2,
        fields="metadata.name!=c1", pages=[["c0", "c2"], ["c3", "c4"]], remaining=[0, 0],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_list_in_pages(case: Case) -> None:
    api, resource = await filled(case.count)
    seen: list[ObjectPage] = []
    token = ""
    while not seen or token:
        page = api.list(
            resource, namespace="default", label_selector=case.labels,
            field_selector=case.fields, limit=case.limit, continue_token=token,
        )  # fmt: skip
        seen.append(page)
        token = page.continue_token
    assert [names(page) for page in seen] == case.pages
    assert [page.remaining for page in seen] == case.remaining
    # All pages are of one version: that of the first page.
    assert {page.resource_version for page in seen} == {str(api.store.version)}


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """What happens between two pages of two; the second page must not show it."""

    id: str
    created: list[str] = []
    deleted: list[str] = []


CHANGED = [
    Changed(id="an object is created before the token", created=["b0"]),
    Changed(id="an object is created after the token", created=["c9"]),
    Changed(id="an object of the first page is deleted", deleted=["c0"]),
    Changed(id="the last object of the first page is deleted", deleted=["c1"]),
    Changed(id="an object of the second page is deleted", deleted=["c2"]),
    Changed(id="all objects are deleted", deleted=["c0", "c1", "c2", "c3"]),
    Changed(id="an object is deleted and created again", deleted=["c2"], created=["c2"]),
]


@pytest.mark.parametrize("case", CHANGED, ids=lambda case: case.id)
async def test_the_second_page_shows_the_version_of_the_first(case: Changed) -> None:
    api, resource = await filled(4)
    first = api.list(resource, namespace="default", limit=2)
    for name in case.deleted:
        await api.delete(resource, name=name, namespace="default")
    for name in case.created:
        await api.create(resource, {"metadata": {"name": name}}, namespace="default")
    second = api.list(resource, namespace="default", limit=2, continue_token=first.continue_token)
    assert (names(first), names(second)) == (["c0", "c1"], ["c2", "c3"])
    assert second.resource_version == first.resource_version
    # The state now is what a list without a token shows.
    left = sorted(({"c0", "c1", "c2", "c3"} - set(case.deleted)) | set(case.created))
    assert names(api.list(resource, namespace="default")) == left


async def test_the_limit_may_differ_from_page_to_page() -> None:
    api, resource = await filled(6)
    first = api.list(resource, namespace="default", limit=1)
    second = api.list(resource, namespace="default", limit=3, continue_token=first.continue_token)
    third = api.list(resource, namespace="default", continue_token=second.continue_token)
    assert [names(page) for page in (first, second, third)] == [
        ["c0"], ["c1", "c2", "c3"], ["c4", "c5"],
    ]  # fmt: skip


async def test_pages_go_through_the_namespaces_in_order() -> None:
    api, resource = await filled(2)
    await api.create(resource, {"metadata": {"name": "a"}}, namespace="kube-system")
    first = api.list(resource, label_selector="!kubernetes.io/none", limit=2)
    rest = api.list(
        resource, label_selector="!kubernetes.io/none", continue_token=first.continue_token
    )
    assert names(first) == ["c0", "c1"]
    assert "a" in names(rest)


async def test_a_namespace_is_no_prefix_of_another() -> None:
    api = make_api()
    resource = api.registry.for_kind(CONFIGMAPS)
    for namespace in ("a", "a-b", "ab"):
        body = {"metadata": {"name": namespace}}
        await api.create(api.registry.lookup("", "v1", "namespaces"), body)
        await api.create(resource, {"metadata": {"name": "c"}}, namespace=namespace)
    for namespace in ("a", "a-b", "ab"):
        assert len(api.list(resource, namespace=namespace).items) == 1


async def test_a_token_of_compacted_history_is_410_with_a_way_out() -> None:
    api, resource = await filled(4)
    first = api.list(resource, namespace="default", limit=2)
    await api.delete(resource, name="c3", namespace="default")
    api.compact()
    with pytest.raises(GoneError, match="start a new list without the continue") as caught:
        api.list(resource, namespace="default", continue_token=first.continue_token)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    assert len(names(api.list(resource, namespace="default"))) == 3


def _token(content: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("=")


class BadToken(msgspec.Struct, frozen=True):
    """A continue token that no page returned."""

    id: str
    token: str


BAD_TOKENS = [
    BadToken("a text that is not base64", "%%%"),
    BadToken("base64 of no JSON", base64.urlsafe_b64encode(b"hello").decode()),
    BadToken("JSON without the version", _token({"after": ["default", "c"]})),
    BadToken("JSON without the key", _token({"version": 1})),
    BadToken("a version that is a text", _token({"version": "1", "after": ["default", "c"]})),
    BadToken("a key with one part", _token({"version": 1, "after": ["default"]})),
    BadToken("a list", _token([1, 2])),
    BadToken("a token that was cut", _token({"version": 1, "after": ["default", "c"]})[:-3]),
]


@pytest.mark.parametrize("case", BAD_TOKENS, ids=lambda case: case.id)
async def test_a_damaged_token_is_an_error_of_the_request(case: BadToken) -> None:
    api, resource = await filled(1)
    with pytest.raises(BadRequestError, match="continue key is not valid"):
        api.list(resource, namespace="default", limit=1, continue_token=case.token)
