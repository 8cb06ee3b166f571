"""Shell completion: commands, options, choices and files, in the shells that are installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from vc.cli.vcctl.commands.completion import script
from vc.cli.vcctl.parser import SHELLS

COMPLETIONS = [
    ("commands", [""], {"job", "queue", "pod", "validate", "version"}),
    ("commands of a group", ["job", ""], {"run", "list", "explain", "timeline"}),
    ("the rest of a command", ["job", "l"], {"list"}),
    ("options after a value", ["queue", "operate", "-n", "x", "--a"], {"--action"}),
    ("choices of an argument", ["completion", ""], {"bash", "zsh", "fish"}),
    ("choices of an option", ["queue", "operate", "--action", ""], {"open", "close", "update"}),
    ("output formats", ["queue", "tree", "-o", ""], {"json", "yaml", "wide"}),
    ("files", ["validate", "-f", "some"], {"some.yaml"}),
    ("files of a global option", ["job", "list", "-k", "some"], {"some.yaml"}),
]


@pytest.mark.parametrize(
    ("words", "expected"), [case[1:] for case in COMPLETIONS], ids=[case[0] for case in COMPLETIONS]
)
def test_bash_completes(words: list[str], expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "some.yaml").touch()
    line = " ".join(f'"{word}"' for word in ["vcctl", *words])
    code = (
        f"{script('bash')}\n"
        f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _shtab_vcctl 2>/dev/null;"
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert expected <= set(done.stdout.split())
    assert done.stderr == ""


def test_an_option_with_choices_offers_only_them() -> None:
    code = (
        f"{script('bash')}\n"
        'COMP_WORDS=(vcctl queue operate --action ""); COMP_CWORD=4; _shtab_vcctl 2>/dev/null;'
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"open", "close", "update"}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_says_how_to_load_it(shell: str) -> None:
    assert f"vcctl completion {shell}" in script(shell)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_every_script(shell: str) -> None:
    text = script(shell)
    for word in ("explain", "timeline", "waiting", "jobtemplate", "queue-file", "kubeconfig"):
        assert word in text, word


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_itself_accepts_the_script(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed, so its script cannot be checked")
    done = subprocess.run(
        [program, "-n", "/dev/stdin"],
        input=script(shell),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_fish_completes() -> None:
    program = shutil.which("fish")
    if program is None:
        pytest.skip("fish is not installed, so its script cannot be run")
    code = f"{script('fish')}\ncomplete -C 'vcctl job '"
    done = subprocess.run([program, "-c", code], capture_output=True, text=True, check=True)
    words = {line.split("\t")[0] for line in done.stdout.split("\n")}
    assert {"run", "list", "explain", "timeline"} <= words
