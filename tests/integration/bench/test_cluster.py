"""`python -m bench.cluster` over HTTP: it measures, leaves nothing, and says what is wrong."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import yaml
from bench.cluster.__main__ import main, parser, run
from bench.cluster.results import read
from bench.cluster.shapes import Shape

from vc.cli.pyroclast.embedded import EmbeddedStack
from vc.clock import LoopClock
from vc.kubeconfig.writer import write_kubeconfig
from vc.model.api.kinds import JOBS, NAMESPACES, PODS
from vc.model.api.meta import ApiObject
from vc.simcluster.schema.registry import Registry
from vc.simcluster.server import serve
from vc.simcluster.verbs.api import Api

NODES = {"nodes": [{"count": 3, "capacity": {"cpu": "4", "memory": "16Gi", "pods": "20"}}]}
ROOT = Path(__file__).parents[3]
SHAPES = "1x12,4x3,6x1"
WAIT_SECONDS_MAX = 30.0


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[EmbeddedStack]:
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(yaml.safe_dump(NODES))
    async with EmbeddedStack(home=tmp_path, nodes=nodes) as running:
        await running.wait_until_ready()
        yield running


async def namespaces(stack: EmbeddedStack) -> set[str]:
    page = await stack.cluster.list(NAMESPACES)
    return {msgspec.json.decode(raw, type=ApiObject).metadata.name for raw in page.items}


async def command(kubeconfig: Path, *words: str) -> asyncio.subprocess.Process:
    """As a user calls it."""
    called = ["-m", "bench.cluster", "--kubeconfig", str(kubeconfig), *words]
    return await asyncio.create_subprocess_exec(
        sys.executable, *called, cwd=ROOT, stdout=DEVNULL, stderr=PIPE
    )


async def refused(kubeconfig: Path, *words: str) -> str:
    """It must fail; gives what it says."""
    running = await command(kubeconfig, *words)
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        _, said = await running.communicate()
    assert running.returncode == 1, said.decode()
    return said.decode()


async def test_small_shapes_are_measured_and_nothing_is_left(
    stack: EmbeddedStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = await namespaces(stack)
    files = [tmp_path / "a.json", tmp_path / "a.svg"]
    log = tmp_path / "audit.log"
    log.write_text("")
    arguments = parser().parse_args(
        ["--kubeconfig", str(stack.kubeconfig), "--shapes", SHAPES, "--label", "embedded"]
        + ["--json", str(files[0]), "--chart", str(files[1]), "--audit-log", str(log)]
        + ["--pids", f"all={os.getpid()}"]
    )
    await run(arguments)
    measured = read(files[0])
    assert [each.shape for each in measured.shapes] == [Shape(1, 12), Shape(4, 3), Shape(6, 1)]
    for each in measured.shapes:
        assert each.complete
        assert each.pods_made == each.shape.total
        assert set(each.reached.values()) == {each.shape.total}
        created, bound, running = (each.stages[s] for s in ("created", "bound", "running"))
        assert 0 < created.last <= bound.last <= running.last
        assert running.p50 <= running.p99 <= running.last
        assert each.processes["all"].cpu_seconds > 0
        assert each.processes["all"].memory_bytes_max > 1_000_000
        assert each.requests is not None
        assert each.requests.total == 0, "nobody wrote to that log"
    assert await namespaces(stack) == before
    assert not (await stack.cluster.list(PODS)).items
    assert files[1].read_text().startswith("<svg")
    assert "4x3: submitting 12 pods" in capsys.readouterr().out


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
async def test_a_run_that_is_ended_by_hand_cleans_up(
    stack: EmbeddedStack, by: signal.Signals
) -> None:
    before = await namespaces(stack)
    words = ["--shapes", "2x3", "--scheduler-name", "nobody", "--namespace", "by-hand"]
    words += ["--warm-up-seconds", "0"]
    running = await command(stack.kubeconfig, *words)
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while len((await stack.cluster.list(JOBS, namespace="by-hand")).items) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        running.send_signal(by)
        _, said = await running.communicate()
    assert running.returncode == 130
    assert b"nothing was left in the cluster" in said
    assert await namespaces(stack) == before
    assert not (await stack.cluster.list(PODS)).items


async def test_a_shape_that_is_not_over_in_time_fails_with_what_was_reached(
    stack: EmbeddedStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = parser().parse_args(
        ["--kubeconfig", str(stack.kubeconfig), "--shapes", "1x2", "--scheduler-name", "nobody"]
        + ["--warm-up-seconds", "1", "--seconds-max", "1", "--json", str(tmp_path / "a.json")]
    )
    whole = await run(arguments)
    assert not whole.shapes[0].complete
    assert whole.shapes[0].reached["bound"] == 0
    said = capsys.readouterr().out
    assert "1x2: the cluster is not quiet after 1 s" in said
    assert "1x2: not over within 1 s" in said


async def test_a_namespace_that_exists_is_neither_used_nor_deleted(stack: EmbeddedStack) -> None:
    said = await refused(stack.kubeconfig, "--shapes", "1x1", "--namespace", "default")
    assert "namespace default exists already" in said
    space = await stack.cluster.get(NAMESPACES, name="default")
    assert "deletionTimestamp" not in space["metadata"]


async def test_too_little_room_is_told_before_anything_is_made(stack: EmbeddedStack) -> None:
    said = await refused(stack.kubeconfig, "--shapes", "1x1000")
    assert "1x1000 needs capacity for 1,000 pods" in said
    assert "the 3 usable nodes have capacity for 60: 47 more nodes" in said


async def test_jobs_that_the_cluster_refuses_are_told(stack: EmbeddedStack) -> None:
    before = await namespaces(stack)
    said = await refused(stack.kubeconfig, "--shapes", "1x1", "--queue", "nowhere")
    assert "the cluster takes no jobs" in said
    assert await namespaces(stack) == before


async def test_a_cluster_without_vcjobs_is_told(tmp_path: Path) -> None:
    server = await serve(Api(clock=LoopClock(), registry=Registry(crds=[])))
    write_kubeconfig(tmp_path / "kubeconfig", server.url)
    try:
        said = await refused(tmp_path / "kubeconfig", "--shapes", "1x1")
    finally:
        await server.close()
    assert "does not serve jobs of batch.volcano.sh/v1alpha1" in said


def test_no_cluster_and_no_file_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert main(["--shapes", "1x1"]) == 1
    assert "no cluster given" in capsys.readouterr().err
    assert main(["--compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "a").write_text(json.dumps({}))
    assert main(["--compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "no results of a run" in capsys.readouterr().err
