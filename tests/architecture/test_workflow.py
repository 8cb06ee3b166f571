"""The public CI and the hooks of pre-commit run what `make` and `.ci` have."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github/workflows/ci.yml"
PINNED = re.compile(r"^actions/[a-z-]+@v\d+\.\d+\.\d+$")
TARGET = re.compile(r"^([a-z][a-z0-9-]*):", re.MULTILINE)


def jobs() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    return found


def commands(job: str) -> list[str]:
    return [step["run"] for step in jobs()[job]["steps"] if "run" in step]


def hooks() -> list[dict[str, Any]]:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    found: list[dict[str, Any]] = local["hooks"]
    return found


def targets() -> set[str]:
    return set(TARGET.findall((ROOT / "Makefile").read_text()))


def test_the_gate_is_ci_run() -> None:
    assert ".ci/run" in commands("gate")


def test_the_containers_run_the_jobs_and_are_stopped() -> None:
    run = commands("compose")
    started = next(n for n, line in enumerate(run) if line.startswith("docker compose up"))
    assert "--wait" in run[started]
    assert run.index(".ci/compose-jobs") > started
    assert run[-1] == "docker compose down"
    assert jobs()["compose"]["steps"][-1]["if"] == "always()"


@pytest.mark.parametrize("name", ["run", "compose-jobs"])
def test_the_scripts_can_be_run(name: str) -> None:
    assert os.access(ROOT / ".ci" / name, os.X_OK)


def test_actions_are_githubs_own_and_pinned_by_version() -> None:
    used = [step["uses"] for job in jobs().values() for step in job["steps"] if "uses" in step]
    assert used
    assert [action for action in used if not PINNED.match(action)] == []


def test_a_job_has_a_time_limit_and_no_rights_to_write() -> None:
    assert all(job["timeout-minutes"] for job in jobs().values())
    assert yaml.safe_load(WORKFLOW.read_text())["permissions"] == {"contents": "read"}


def test_every_make_target_that_is_named_exists() -> None:
    scripts = [path.read_text() for path in sorted((ROOT / ".ci").iterdir())]
    lines = [*(line for job in jobs() for line in commands(job)), *scripts]
    lines += [hook["entry"] for hook in hooks()]
    named = {
        name for text in lines for name in re.findall(r"^make ([a-z0-9-]+)", text, re.MULTILINE)
    }
    assert {"install", "parts", "check", "test", "e2e", "types", "imports"} <= named
    assert named <= targets()


def test_hooks_run_the_tools_of_the_environment() -> None:
    assert [hook["id"] for hook in hooks()] == ["ruff-format", "ruff-check", "mypy", "lint-imports"]
    for hook in hooks():
        assert hook["language"] == "system"
        assert hook["entry"].startswith((".venv/bin/", "make "))


def test_the_submitted_files_are_all_files_of_the_examples() -> None:
    text = (ROOT / ".ci/compose-jobs").read_text()
    named = set(re.findall(r"\d\d-[a-z-]+\.yaml", text))
    there = {path.name for path in (ROOT / "examples/seeds").glob("*.yaml")}
    # The pod group alone has no phase of a job.
    assert there - named == {"04-podgroup.yaml"}
