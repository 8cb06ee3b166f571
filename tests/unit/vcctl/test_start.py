"""Starting is cheap: counted in modules, since time is the machine's affair."""

import subprocess
import sys

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
)

MODULES_MAX = 220
"""An interpreter that does nothing has about 60; argparse and the version's metadata 100 more."""


def loaded(code: str) -> str:
    script = f"import sys\n{code}\nprint([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stderr.strip()


@pytest.mark.parametrize("module", ["vc_cli.vcctl", "vc_cli.slurm"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    assert loaded(f"import {module}; assert 'ssl' not in sys.modules") == "[]"


def test_a_whole_list_loads_nothing_heavy() -> None:
    with serving(lambda _: answer({"items": [], "metadata": {}})) as (url, _):
        code = f"""
from vc_cli.vcctl import main
try:
    main(["job", "list", "-s", "{url}"])
except SystemExit as ended:
    assert ended.code == 0
"""
        assert loaded(code) == "[]"


@pytest.mark.parametrize("words", [["version"], ["completion", "fish"], ["job", "list", "-h"]])
def test_a_command_that_asks_nobody_loads_few_modules(words: list[str]) -> None:
    code = f"""
from vc_cli.vcctl import main
try:
    main({words!r})
except SystemExit as ended:
    assert ended.code == 0
assert len(sys.modules) < {MODULES_MAX}, len(sys.modules)
"""
    assert loaded(code) == "[]"
