"""Starting is cheap: counted in modules, since time is the machine's affair."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.vcctl.server import answer, serving

HEAVY = (
    "asyncio",
    "aiohttp",
    "numpy",
    "kubernetes_asyncio",
    "msgspec",
    "redis",
    "aiokafka",
    "yaml",
    "vc.model.api.kinds",
    "vc.model.api.job",
    "opentelemetry",
    "prometheus_client",
    "shtab",
)

MODULES_MAX = 220
"""An interpreter that does nothing has about 60; argparse and the version's metadata 100 more."""


def loaded(code: str) -> str:
    script = f"import sys\n{code}\nprint([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stderr.strip()


@pytest.mark.parametrize("module", ["vc.cli.vcctl.main", "vc.cli.vcctl.slurm"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    assert loaded(f"import {module}; assert 'ssl' not in sys.modules") == "[]"


def test_a_whole_list_loads_nothing_heavy() -> None:
    with serving(lambda _: answer({"items": [], "metadata": {}})) as (url, _):
        code = f"""
from vc.cli.vcctl.main import main
try:
    main(["job", "list", "-s", "{url}"])
except SystemExit as ended:
    assert ended.code == 0
"""
        assert loaded(code) == "[]"


ASKING = [
    ["job", "list"],
    ["job", "explain", "j"],
    ["job", "timeline", "j"],
    ["queue", "tree"],
    ["queue", "waiting"],
    ["queue", "list"],
    ["usage", "--from", "7d"],
    ["session", "list"],
]
CLUSTER: dict[str, Any] = {
    "items": [],
    "metadata": {"name": "j", "namespace": "default", "uid": "u"},
    "explanation": {
        "stage": "quota",
        "sentence": "full",
        "amounts": [{"resource": "cpu", "needed": 2000, "available": 0, "missing": 2000}],
        "unblock": {"action": "add-room", "amounts": {"cpu": 2000}},
    },
    "queues": [
        {"name": "root", "state": "Open", "weight": 1, "depth": 0, "used": {"cpu": "1"}},
    ],
    "capacity": {"cpu": "8"},
    "queue": "root",
    "waiting": [],
    "by": ["queue"],
    "lines": [{"queue": "root", "cpuHours": 1}],
    "sessions": [
        {"sessionId": "1-1", "startedAt": 1.0, "tookMs": 1.0},
    ],
}
"""One object that answers every question."""
MAY_LOAD = ("yaml",)
"""A kubeconfig is YAML."""


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_asking_a_cluster_of_a_kubeconfig_loads_nothing_heavy_but_yaml(
    words: list[str], tmp_path: Path
) -> None:
    """Neither asyncio nor the models, and never Kubernetes' own client."""
    with serving(lambda _: answer(CLUSTER)) as (url, _):
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c"}}],
            "clusters": [{"name": "c", "cluster": {"server": url}}],
        }
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(config))
        code = f"""
from vc.cli.vcctl.main import main
try:
    main({words!r} + ["-k", {str(file)!r}])
except SystemExit as ended:
    assert ended.code == 0, ended.code
"""
        found = loaded(code)
    assert found == str(list(MAY_LOAD)), found


@pytest.mark.parametrize("words", [["version"], ["help"], ["job", "list", "-h"]])
def test_a_command_that_asks_nobody_loads_few_modules(words: list[str]) -> None:
    code = f"""
from vc.cli.vcctl.main import main
try:
    main({words!r})
except SystemExit as ended:
    assert ended.code == 0
assert len(sys.modules) < {MODULES_MAX}, len(sys.modules)
"""
    assert loaded(code) == "[]"
