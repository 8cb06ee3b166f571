"""Each contract test runs once per backend. More backends are more entries of `BACKENDS`."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contracts.cluster.backends import Backend, Target, open_store
from tests.contracts.cluster.kubernetes_backends import CONTROL_PLANE, KUBERNETES_BACKENDS
from vc.cluster import Cluster
from vc.model.api.kinds import NAMESPACES

BACKENDS: list[Backend] = [Backend(name="store", open=open_store), *KUBERNETES_BACKENDS]


@pytest.fixture(scope="session", autouse=True)
def control_plane_ends() -> Iterator[None]:
    """The control plane that tests share is stopped with the session."""
    yield
    CONTROL_PLANE.stop()


@pytest.fixture(params=[pytest.param(b, id=b.name, marks=b.marks) for b in BACKENDS])
async def target(request: pytest.FixtureRequest) -> AsyncIterator[Target]:
    """An open backend."""
    backend: Backend = request.param
    async with backend.open() as opened:
        yield opened


@pytest.fixture
def cluster(target: Target) -> Cluster:
    """The interface alone: what most tests need."""
    return target.cluster


@pytest.fixture
def controlled(target: Target) -> Cluster:
    """A cluster whose controllers are at work."""
    if not target.has_controllers:
        pytest.skip("this backend is an API server without the controllers that do this")
    return target.cluster


@pytest.fixture
async def namespace(target: Target) -> str:
    """A namespace of the test's own, so that real servers can be shared."""
    made = await target.cluster.create(NAMESPACES, {"metadata": {"generateName": "contract-"}})
    name: str = made["metadata"]["name"]
    if target.furnish is not None:
        await target.furnish(name)
    return name
