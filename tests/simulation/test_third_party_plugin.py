"""A third-party plugin: not in the tree, found through `plugin.registry`, treated like our own."""

import asyncio
import importlib
from pathlib import Path

import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.jobplugin.answers import Core
from vc.jobplugin.service import PluginService
from vc.messages.topics import plugin_requests
from vc.model.api.kinds import PODS

PACKAGE = "acme_greeting"
TOPIC = plugin_requests("greeting")
SOURCE = '''
"""Greets every pod by its index."""

from vc.jobplugin.answers import Decorated
from vc.jobs.plugins.flags import (described, parse)
from vc.messages.job_plugins import Flag
from vc.messages.plugins import EnvVar, JobDecoration, PluginAnnouncement, TaskDecoration

FLAGS = (Flag(name="word", default="hello", meaning="how to greet"),)


class GreetingCore:
    announcement = PluginAnnouncement(
        plugin="greeting", version="7", arguments=described(FLAGS), forces=["env"]
    )

    def looks_at(self, request):
        return []

    def decorate(self, request, found):
        parsed = parse(request.arguments, FLAGS)
        if parsed.problem:
            return Decorated(problem=parsed.problem)
        text = parsed.text("word") + " <index>"
        greeted = TaskDecoration(env=[EnvVar(name="GREETING", text_with_index=text)])
        return Decorated(
            decoration=JobDecoration(tasks={task.name: greeted for task in request.job.spec.tasks})
        )

    def remove(self, request, found):
        return Decorated()
'''


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Core:
    """The plugin's core, from a package outside the tree."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    core: Core = importlib.import_module(PACKAGE).GreetingCore()
    return core


def service(stack: Stack, core: Core) -> PluginService:
    context = stack.context("plugin-greeting", identity="plugin-greeting-0")
    return PluginService(context, core)


def variables(stack: Stack, pod: str) -> dict[str, str]:
    """Of a pod's first container, as the API server has it."""
    resource = stack.api.registry.for_kind(PODS)
    spec = stack.api.get(resource, name=pod, namespace="default")["spec"]
    return {variable["name"]: variable["value"] for variable in spec["containers"][0]["env"]}


def test_a_job_waits_for_an_unknown_plugin_and_is_decorated_when_it_starts(
    third_party: Core,
) -> None:
    async def main() -> None:
        async with Stack(services=CORE) as stack:
            wanted = {"greeting": ["--word=welcome"]}
            await stack.submit(gang_job("greeted", replicas=2, run_seconds=5, plugins=wanted))
            await stack.until(
                lambda: stack.job("greeted").status.state.reason == "PluginUnknown",
                seconds=30,
                what="the plugin is unknown",
            )
            assert "greeting" in stack.job("greeted").status.state.message
            running = asyncio.create_task(service(stack, third_party).run())
            await stack.until(
                lambda: stack.job("greeted").status.running == 2, seconds=30, what="running"
            )
            assert stack.job("greeted").status.state.reason == ""
            found = variables(stack, "greeted-worker-1")
            assert (found["GREETING"], found["VC_TASK_INDEX"]) == ("welcome 1", "1")
            assert len(await stack.bus.end_offsets(TOPIC.name)) == TOPIC.partitions
            await stack.until(
                lambda: stack.job("greeted").status.state.phase == "Completed",
                seconds=60,
                what="completed",
            )
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            assert stack.problems == []

    run_virtual(main())


def test_a_problem_of_a_third_party_plugin_is_in_the_status_of_the_job(third_party: Core) -> None:
    async def main() -> None:
        async with Stack(services=CORE) as stack:
            running = asyncio.create_task(service(stack, third_party).run())
            await stack.submit(gang_job("rude", replicas=1, plugins={"greeting": ["--word"]}))
            await stack.until(
                lambda: stack.job("rude").status.state.reason == "PluginProblem",
                seconds=30,
                what="the problem is in the status",
            )
            said = stack.job("rude").status.state.message
            assert "plugin greeting: argument --word needs a value" in said
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run_virtual(main())
