"""`python -m vc.parts`: help, tables, and errors as sentences."""

from pathlib import Path

import pytest

from vc.parts import docker
from vc.parts.__main__ import main


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No programs, no Docker, an empty cache, no addresses."""
    monkeypatch.setattr(docker, "docker_answers", lambda: False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYROCLAST_PARTS_CACHE", str(tmp_path / "cache"))
    for key in ("KAFKA_BOOTSTRAP_SERVERS", "REDIS_URL", "PYROCLAST_TEST_KUBECONFIG"):
        monkeypatch.delenv(key, raising=False)


def test_help_names_the_commands_and_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for word in ("get", "list", "run", "PYROCLAST_REQUIRE", "PYROCLAST_PARTS_CACHE"):
        assert word in text


def test_list_says_how_each_part_would_come(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert "quick to get" in rows["redis"]
    assert "slow to get" in rows["kubernetes"]
    assert "missing" in rows["kafka"]
    assert "cache:" in rows


def test_get_of_a_part_that_cannot_come_is_a_sentence_and_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["get", "kafka"]) == 1
    streams = capsys.readouterr()
    assert "failed" in streams.out
    assert "no mvn on PATH" in streams.err
    assert "Traceback" not in streams.err


def test_get_does_not_build_what_is_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://there")
    assert main(["get", "redis"]) == 0
    assert "given: redis://there" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["get", "zookeeper"], "There is no part named 'zookeeper'"),
        (["run", "kwok"], "run `kubernetes kwok`"),
    ],
)
def test_mistakes_are_sentences(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    assert sentence in capsys.readouterr().err


def test_run_refuses_a_part_that_runs_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://there")
    assert main(["run", "redis"]) == 1
    assert "unset REDIS_URL" in capsys.readouterr().err
