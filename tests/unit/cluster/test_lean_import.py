"""The part of kubernetes-asyncio that services load: small and sufficient."""

import logging
import subprocess
import sys

import pytest

from vc.cluster import kubernetes_library
from vc.cluster.kubernetes_library import library

MODULES_MAX = 100
"""Of which kubernetes-asyncio's are a dozen; its models alone would be 768."""


def run(code: str) -> str:
    """What a Python of its own prints: this process may have loaded the library long ago."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def test_no_models_are_loaded() -> None:
    script = """
import sys, msgspec
from vc.cluster.kubernetes_library import library
import aiohttp, yaml
before = set(sys.modules)
assert library().Configuration().verify_ssl
print(len(set(sys.modules) - before), any("models" in name for name in sys.modules if "kube" in name))
"""
    loaded, with_models = run(script).split()
    assert int(loaded) < MODULES_MAX
    assert with_models == "False"


def test_code_that_imports_the_package_gets_the_whole_of_it() -> None:
    script = """
from vc.cluster.kubernetes_library import library
library()
from kubernetes_asyncio import client
print(client.V1Pod.__name__, client.ApiClient.__module__)
"""
    assert run(script) == "V1Pod kubernetes_asyncio.client.api_client"


def test_a_package_that_is_loaded_already_is_used() -> None:
    script = """
from kubernetes_asyncio import client
from vc.cluster.kubernetes_library import library
print(library().Configuration is client.Configuration)
"""
    assert run(script) == "True"


def test_a_library_of_another_shape_is_loaded_whole(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> None:
        raise ImportError("no module kubernetes_asyncio.client.configuration")

    monkeypatch.setattr(kubernetes_library, "_part", missing)
    monkeypatch.delitem(sys.modules, "kubernetes_asyncio", raising=False)
    with caplog.at_level(logging.WARNING, logger="pyroclast.cluster"):
        loaded = library.__wrapped__()
    assert loaded.load_kube_config_from_dict
    assert "not built as expected" in caplog.text
