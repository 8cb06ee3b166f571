"""docs/first-hour.md and README.md, step by step, on the embedded stack: what they show is what is printed.

Run with PYROCLAST_WRITE_DOCS=1, the pages are written anew with what the commands print now. A block
that is tagged `shown` is not run: it takes minutes, or stands for what other tests run.
"""

import asyncio
import difflib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.integration.docs.page import Block, Command, read, written
from tests.integration.kubectl.shell import find_kubectl
from tests.integration.vcctl.shell import BIN
from vc.cli.pyroclast import settings
from vc.clock import LoopClock
from vc.parts import jaeger_address, require_or_skip_reason
from vc.parts.ports import free_port

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = ROOT / "docs" / "first-hour.md"
PAGES: Final = (PAGE, ROOT / "README.md")
WRITE: Final = bool(os.environ.get("PYROCLAST_WRITE_DOCS"))
COMMAND_SECONDS_MAX: Final = 90.0
SETTLE_SECONDS_MAX: Final = 20.0
"""What is looked at may change a moment later: a command that only looks is run until it is right."""
LOOK_SECONDS: Final = 0.3
QUIET_SECONDS: Final = 3.0
LOOKING: Final = re.compile(
    r"^(vcctl \w+ (list|explain|timeline|tree|waiting)|kubectl get|grep|curl)\b"
)
SHOWN_AS: Final = {
    settings.API_PORT: "API server",
    settings.DASHBOARD_PORT: "dashboard",
    settings.METRICS_PORT: "metrics",
}
"""Where `up` prints the port that a variable chooses."""
_EXPORT: Final = re.compile(r"(\w+)=(\S+)")


class Reader:
    """Somebody who types what the page says, in the repository's folder."""

    def __init__(self, folder: Path, *, jaeger: str) -> None:
        kubectl = folder / "kubectl"
        kubectl.symlink_to(find_kubectl())
        self._given = {"KUBECONFIG": str(folder / "kubeconfig")}
        self._given |= {"JAEGER_QUERY_URL": jaeger} if jaeger else {}
        self._log = folder / "up.log"
        path = f"{folder}:{BIN}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "HOME": str(folder)}
        self._environment.pop("JAEGER_QUERY_URL", None)

    def type(self, line: str) -> str:
        """What one command prints, errors included."""
        if line.startswith("export "):
            for name, value in _EXPORT.findall(line):
                if name != "PATH":
                    self._environment[name] = self._given.get(name, value)
            return ""
        assigned = re.match(r"^([A-Z]+)=\$\((.*)\)$", line)
        if assigned:
            self._environment[assigned[1]] = self._run(assigned[2])
            return ""
        return self._run(line.replace("up.log", str(self._log)))

    def _run(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=ROOT,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
        return "\n".join(part.rstrip() for part in done.stdout.strip("\n").splitlines())

    def follow(self, command: Command, block: Block) -> str:
        """What the command prints at last; the page is right as soon as it is right once."""
        clock = LoopClock()
        printed, began, since = self.type(command.line), clock.monotonic(), clock.monotonic()
        while LOOKING.match(command.line) and clock.monotonic() - began < SETTLE_SECONDS_MAX:
            if not WRITE and block.same(command.shown, printed):
                break
            if WRITE and clock.monotonic() - since > QUIET_SECONDS:
                break
            asyncio.run(clock.sleep(LOOK_SECONDS))
            again = self.type(command.line)
            if not block.same(printed, again):
                since = clock.monotonic()
            printed = again
        return printed


@pytest.fixture
def traces() -> Iterator[dict[str, str]]:
    """A Jaeger where there is one; without it the page's blocks about it are left out."""
    if require_or_skip_reason("jaeger"):
        yield {}
        return
    with asyncio.Runner() as runner:
        address = jaeger_address()
        found = runner.run(address.__aenter__())
        try:
            yield {
                "OTEL_EXPORTER_OTLP_ENDPOINT": found.otlp_endpoint,
                "JAEGER_QUERY_URL": found.query_url,
            }
        finally:
            runner.run(address.__aexit__(None, None, None))


@pytest.fixture
def stack(tmp_path: Path, traces: dict[str, str]) -> Iterator[str]:
    """`make up 2> up.log`; gives what it printed."""
    chosen = {variable: free_port() for variable in SHOWN_AS}
    own = {"PYROCLAST_HOME": str(tmp_path), "LOG_LEVEL": "info", "LOG_FORMAT": "json", **traces}
    own |= {variable: str(port) for variable, port in chosen.items()}
    kept = {k: v for k, v in os.environ.items() if k not in {"KUBECONFIG", "REDIS_URL"}}
    with (tmp_path / "up.log").open("wb") as log:
        process = subprocess.Popen(
            [str(BIN / "pyroclast"), "up"],
            cwd=ROOT,
            env={**kept, **own},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    try:
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        for variable, name in SHOWN_AS.items():
            (line,) = [line for line in lines if line.startswith(f"  {name} ")]
            assert f"http://127.0.0.1:{chosen[variable]}" in line, "it listens where it was told to"
        yield "\n".join(lines)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_the_page_shows_what_is_printed(
    page: Path, tmp_path: Path, stack: str, traces: dict[str, str]
) -> None:
    text, blocks = read(page)
    reader = Reader(tmp_path, jaeger=traces.get("JAEGER_QUERY_URL", ""))
    results: list[list[str]] = []
    for block in blocks:
        if "up" in block.tags:
            results.append([stack])
        elif "shown" in block.tags or ("jaeger" in block.tags and not traces):
            results.append([command.shown for command in block.commands])
        else:
            results.append([reader.follow(command, block) for command in block.commands])
        if not WRITE:
            _compare(block, results[-1])
    if WRITE:
        tidy = [[_as_at_home(output, tmp_path, traces) for output in block] for block in results]
        page.write_text(written(text, tidy), encoding="utf-8")


def _as_at_home(output: str, home: Path, traces: dict[str, str]) -> str:
    """With the folder and the ports that a reader has."""
    usual = {
        SHOWN_AS[settings.API_PORT]: settings.DEFAULT_API_PORT,
        SHOWN_AS[settings.DASHBOARD_PORT]: settings.DEFAULT_DASHBOARD_PORT,
        SHOWN_AS[settings.METRICS_PORT]: settings.DEFAULT_METRICS_PORT,
    }
    output = output.replace(f"export KUBECONFIG={home}", "export KUBECONFIG=$PWD/.pyroclast")
    output = output.replace(str(home), ".pyroclast")
    if traces:
        output = output.replace(traces["JAEGER_QUERY_URL"], "http://127.0.0.1:16686")
    for name, port in usual.items():
        output = re.sub(rf"(?m)^(  {name} +http://127.0.0.1):\d+", rf"\1:{port}", output)
    return output


def _compare(block: Block, printed: list[str]) -> None:
    for command, output in zip(block.commands, printed, strict=True):
        expected, found = block.lines(command.shown), block.lines(output)
        difference = "\n".join(
            difflib.unified_diff(expected, found, "page", "printed", lineterm="")
        )
        assert not difference, f"$ {command.line}\n{difference}\n\nas printed:\n{output}"


def test_every_manifest_of_the_page_is_used_by_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for manifest in sorted((ROOT / "docs" / "first-hour").iterdir()):
        assert f"(first-hour/{manifest.name})" in text
        assert f"docs/first-hour/{manifest.name}" in text
