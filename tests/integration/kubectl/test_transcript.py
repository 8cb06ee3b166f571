"""kubectl on the embedded cluster behaves as on a real one: one transcript, both backends.

`PYROCLAST_UPDATE_TRANSCRIPT=<backend>` writes what that backend gives into the file, for a person
to read in the diff.
"""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.integration.kubectl import backends
from tests.integration.kubectl.shell import Shell, find_kubectl
from tests.integration.kubectl.transcript import Step, normalise, parse, render
from vc.simcluster.schema.registry import crd_folder

_HERE: Final = Path(__file__).parent
_FILE: Final = _HERE / "transcript.txt"
_TOO_LARGE_BYTES: Final = 5 * 1024 * 1024
_EXPLAIN_ATTEMPTS_MAX = 60
_EXPLAIN_PAUSE_SECONDS = 0.5


@pytest.mark.parametrize(
    "name",
    [
        "embedded",
        pytest.param(
            "kubernetes",
            marks=[pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(300)],
        ),
    ],
)
async def test_the_transcript_holds(name: str, tmp_path: Path) -> None:
    find_kubectl()
    _lay_out(tmp_path)
    steps = parse(_FILE.read_text(encoding="utf-8"))
    async with backends.start(name, tmp_path) as backend:
        given = await _run(steps, backend, tmp_path)
    if os.environ.get("PYROCLAST_UPDATE_TRANSCRIPT") == name:
        _FILE.write_text(render(given), encoding="utf-8")
    wanted = [_trimmed(step) for step in steps if step.backend in ("", name)]
    assert render([s for s in given if s.backend in ("", name)]) == render(wanted)


def _trimmed(step: Step) -> Step:
    """Without the blank line before the next step."""
    step.output = [line for line in step.output if line]
    return step


def _lay_out(folder: Path) -> None:
    """The files the transcript names; the too large one is not kept in the repository."""
    shutil.copytree(_HERE / "manifests", folder / "manifests")
    shutil.copytree(crd_folder(), folder / "crds")
    large = "x" * _TOO_LARGE_BYTES
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n  text: {large}\n"
    (folder / "manifests" / "too-large.yaml").write_text(text, encoding="utf-8")


async def _run(steps: list[Step], backend: backends.Backend, folder: Path) -> list[Step]:
    shell = Shell(backend, folder=folder)
    given: list[Step] = []
    try:
        for step in steps:
            is_ours = step.backend in ("", backend.name)
            output = await _when_served(shell, step) if is_ours else _trimmed(step).output
            given.append(
                Step(
                    command=step.command,
                    mode=step.mode,
                    backend=step.backend,
                    before=step.before,
                    output=output,
                )
            )
    finally:
        await shell.close()
    return given


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("train   Running   2     5m3s", "train  Running  2  <age>"),
        ("uid 0a1b2c3d-0000-1111-2222-0123456789ab.", "uid <uid>."),
        ("at 2026-11-16T12:00:00Z on 10.0.0.1:8001", "at <time> on <address>"),
        ("  Resource Version:    24", "  Resource Version:  <version>"),
        ("image:v2s and 4d5", "image:v2s and 4d5"),
    ],
)
def test_what_differs_from_run_to_run_is_replaced(text: str, normal: str) -> None:
    assert normalise(text) == normal


async def _when_served(shell: Shell, step: Step) -> list[str]:
    """A real server publishes the schema of a new CRD a moment after it serves the kind."""
    output = await shell.run(step)
    for _ in range(_EXPLAIN_ATTEMPTS_MAX):
        unknown = any("couldn't find resource" in line for line in output)
        if not unknown or " explain " not in step.command:
            break
        await asyncio.sleep(_EXPLAIN_PAUSE_SECONDS)
        output = await shell.run(step)
    return output
