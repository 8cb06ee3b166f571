"""Where the API server is, and whether its tokens stay fresh."""

import asyncio
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio.client import Configuration

from tests.unit.cluster.scripted_server import kubeconfig_text
from vc.clock import LoopClock
from vc.cluster import ServerError
from vc.cluster.kubernetes import connect
from vc.cluster.kubernetes_config import (
    IN_CLUSTER,
    TOKEN_CHECK_SECONDS,
    ConfigurationError,
    KubeconfigLoader,
    LiveConfiguration,
    ServiceAccountLoader,
    find_source,
)
from vc.cluster.kubernetes_http import environment_proxy

URL = "http://127.0.0.1:1"


class HandClock(LoopClock):
    """Time that a test moves by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is said, and what follows from it."""

    id: str
    environment: Mapping[str, str]
    given: str = ""
    source: str


POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
CASES = (
    Case(id="nothing said", environment={"HOME": "/root"}, source=""),
    Case(id="in a pod", environment=POD, source=IN_CLUSTER),
    Case(id="KUBECONFIG wins over the pod", environment={**POD, "KUBECONFIG": "/k"}, source="/k"),
    Case(
        id="a path given wins over both",
        environment={**POD, "KUBECONFIG": "/k"},
        given="/mine",
        source="/mine",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_where_the_configuration_comes_from(case: Case) -> None:
    assert find_source(case.environment, kubeconfig=case.given) == case.source


async def test_nothing_to_connect_to_says_what_to_set() -> None:
    with pytest.raises(ConfigurationError, match="set KUBECONFIG"):
        await connect(service="unit", environment={})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not YAML"),
        ("[]", "not a kubeconfig"),
        ("{}", "current-context: not set; choose one"),
        (kubeconfig_text(URL).replace('"current-context":"x"', '"current-context":"y"'), "y"),
    ],
)
async def test_a_broken_kubeconfig_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        await connect(service="unit", kubeconfig=str(path))


async def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file or directory; name"):
        await connect(service="unit", kubeconfig=str(tmp_path / "none"))


async def _access(loader: Any, clock: HandClock) -> LiveConfiguration:
    access = LiveConfiguration(Configuration(), loader, clock=clock)
    await access.load()
    return access


async def _settled(access: LiveConfiguration) -> str:
    """The token after whatever was begun on the side."""
    await access.authorization()
    while access._loading is not None:  # noqa: ASYNC110  no other task waits for it
        await asyncio.sleep(0.01)
    return await access.authorization()


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    token, clock = tmp_path / "token", HandClock()
    token.write_text("one")
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(URL, user={"tokenFile": "token"}))
    access = await _access(KubeconfigLoader(str(path)), clock)

    token.write_text("two")
    assert await _settled(access) == "Bearer one"
    clock.seconds += TOKEN_CHECK_SECONDS
    assert await _settled(access) == "Bearer two"


def _plugin(folder: Path, *, expiry: str = "", seconds: float = 0.0) -> dict[str, object]:
    """A credential plugin that counts how often it was run, and answers with the number."""
    program = folder / "plugin"
    expires = f', "expirationTimestamp": "{expiry}"' if expiry else ""
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, time\n"
        f"time.sleep({seconds})\n"
        f"runs = pathlib.Path({str(folder / 'runs')!r})\n"
        "n = int(runs.read_text()) + 1 if runs.exists() else 1\n"
        "runs.write_text(str(n))\n"
        'print(\'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", '
        f'"status": {{"token": "%d"{expires}}}}}\' % n)\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    api_version = "client.authentication.k8s.io/v1"
    return {"exec": {"command": str(program), "apiVersion": api_version}}


@pytest.mark.parametrize("expiry", ["", "2099-01-01T00:00:00Z"])
async def test_a_plugin_is_run_again_only_when_its_token_was_refused(
    tmp_path: Path, expiry: str
) -> None:
    clock = HandClock()
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(URL, user=_plugin(tmp_path, expiry=expiry)))
    access = await _access(KubeconfigLoader(str(path)), clock)

    clock.seconds += 10 * TOKEN_CHECK_SECONDS
    assert await _settled(access) == "Bearer 1"
    assert await access.renew("Bearer 1")
    assert await access.authorization() == "Bearer 2"
    assert await access.renew("Bearer 1"), "another task has renewed it: nothing to run"
    assert await access.authorization() == "Bearer 2"


async def test_a_plugin_whose_token_is_over_is_run_again(tmp_path: Path) -> None:
    clock = HandClock()
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(URL, user=_plugin(tmp_path, expiry="2001-01-01T00:00:00Z")))
    access = await _access(KubeconfigLoader(str(path)), clock)
    clock.seconds += TOKEN_CHECK_SECONDS
    assert await access.authorization() == "Bearer 1", "no request waits for the plugin"
    assert await _settled(access) == "Bearer 2"


async def test_a_plugin_that_fails_later_is_a_temporary_error(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(URL, user=_plugin(tmp_path)))
    access = await _access(KubeconfigLoader(str(path)), HandClock())
    (tmp_path / "plugin").write_text("#!/bin/sh\necho no luck >&2; exit 3\n")
    with pytest.raises(ServerError, match="no luck"):
        await access.renew("Bearer 1")


async def test_a_file_that_is_gone_for_a_moment_does_no_harm(tmp_path: Path) -> None:
    token, clock = tmp_path / "token", HandClock()
    token.write_text("one")
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(URL, user={"tokenFile": "token"}))
    access = await _access(KubeconfigLoader(str(path)), clock)
    token.unlink()
    clock.seconds += TOKEN_CHECK_SECONDS
    assert await _settled(access) == "Bearer one"


async def test_a_slow_plugin_is_run_once_for_all_that_wait(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(URL, user=_plugin(tmp_path, seconds=0.3)))
    access = await _access(KubeconfigLoader(str(path)), HandClock())

    async def impatient() -> bool:
        try:
            async with asyncio.timeout(0.1):
                return await access.renew("Bearer 1")
        except TimeoutError:
            return False

    assert not any(await asyncio.gather(*(impatient() for _ in range(5))))
    assert await access.renew("Bearer 1")
    assert (tmp_path / "runs").read_text() == "2"


async def test_a_pod_uses_its_service_account_and_notices_its_new_token(tmp_path: Path) -> None:
    clock = HandClock()
    (tmp_path / "ca.crt").write_text("a certificate")
    (tmp_path / "token").write_text("one\n")
    access = await _access(ServiceAccountLoader(POD, folder=tmp_path), clock)
    assert access.configuration.host == "https://10.96.0.1:443"
    assert await access.authorization() == "Bearer one"

    (tmp_path / "token").write_text("two\n")
    assert await access.renew("Bearer one")
    assert await access.authorization() == "Bearer two"


@pytest.mark.parametrize(
    ("host", "proxy"),
    [
        ("https://api.example.com:6443", "http://proxy:3128"),
        ("http://api.example.com", None),
        ("https://10.0.0.1:6443", None),
        ("https://inside.local", None),
    ],
)
def test_a_proxy_is_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, host: str, proxy: str | None
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.1,.local")
    assert environment_proxy(host) == proxy
