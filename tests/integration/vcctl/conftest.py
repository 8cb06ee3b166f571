"""One embedded stack and one on a real kube-apiserver, that all tests here share."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.integration.stack.running import require
from tests.integration.vcctl.clusters import REAL_MARKS, embedded, real
from tests.integration.vcctl.shell import Shell

REAL_PARTS: Final = ("kafka", "redis", "kubernetes", "kwok")


@pytest.fixture(scope="package", params=["embedded", pytest.param("kubernetes", marks=REAL_MARKS)])
def shell(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shell]:
    """A person with a kubeconfig, once on each cluster."""
    if request.param == "embedded":
        with embedded(tmp_path_factory.mktemp("home")) as found:
            yield found
        return
    require(*REAL_PARTS)
    with real(_of_the_run(tmp_path_factory) / "vcctl-stack") as found:
        yield found


def _of_the_run(factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run have in common."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
