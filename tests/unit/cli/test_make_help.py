"""`make help` lists every target that a person may want."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_TARGET = re.compile(r"^([^\s.#:$=]+)\s*:(?!=)(.*)$", re.MULTILINE)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed here")
def test_make_help_lists_every_target_with_its_sentence() -> None:
    makefile = (ROOT / "Makefile").read_text()
    told = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    listed = {line.split()[0]: line for line in told.splitlines()}
    targets = _TARGET.findall(makefile)
    assert "e2e" in dict(targets)
    for name, rest in targets:
        _, marked, sentence = rest.partition("## ")
        assert marked, f"{name} has no sentence for `make help`"
        assert listed[name].endswith(sentence)
    assert set(listed) == {name for name, _ in targets}


def test_every_phony_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    [phony] = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert sorted(phony.split()) == sorted(name for name, _ in _TARGET.findall(makefile))
