"""Proofs over seeds: ranges, progress that is kept for the same code, failures that are counted."""

import argparse
from pathlib import Path

import pytest

from tests.proofs import runner
from tests.proofs.runner import Outcome, Progress, Proof, code_digest, main, seed_range


def prove_odd_seeds(seed: int) -> Outcome:
    """Holds for all seeds but 7; 9 ends the proof itself."""
    if seed == 9:
        raise ValueError("nine")
    details = {"parity: even" if seed % 2 == 0 else "parity: odd": 1, "digits: 1": 1}
    failures = ("seven",) if seed == 7 else ()
    return Outcome(counts={"inputs": 10}, details=details, failures=failures)


PROOF = Proof(name="odd", title="seeds", prove=prove_odd_seeds, chunk=2)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYROCLAST_HOME", str(tmp_path))
    monkeypatch.delenv("SEEDS", raising=False)


def test_a_range_is_proven_once_and_counts_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(PROOF, ["--seeds", "0-3", "--processes", "1"]) == 0
    assert main(PROOF, ["--seeds", "2-6", "--processes", "1"]) == 0
    out = capsys.readouterr().out
    assert "4 seeds are proven with this code; going on" in out
    assert "prove-odd: 7 seeds, 70 inputs, 0 failures" in out
    assert "seeds 0-6;" in out


def test_a_failure_is_shown_with_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(PROOF, ["--seeds", "6-10", "--processes", "2"]) == 1
    out = capsys.readouterr().out
    assert "seed 7: seven" in out
    assert "seed 9: the proof ended with ValueError: nine" in out
    assert "5 seeds, 40 inputs, 2 failures" in out


def test_details_are_added_up_and_listed_by_title_largest_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(PROOF, ["--seeds", "0-2", "--processes", "1"]) == 0
    assert "parity" not in capsys.readouterr().out.partition("seeds 0-2;")[0]
    assert main(PROOF, ["--seeds", "3-5", "--processes", "1"]) == 0
    assert main(PROOF, ["--seeds", "11", "--processes", "1"]) == 0
    listed = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split() for line in listed] == [
        ["7", "digits:", "1"],
        ["4", "parity:", "odd"],
        ["3", "parity:", "even"],
    ]


def test_progress_counts_for_the_sources_that_the_proof_names() -> None:
    assert code_digest(("tests/unit/proofs",)) != code_digest()
    assert code_digest(("tests/unit/proofs",)) == code_digest(("tests/unit/proofs",))


def test_seeds_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEEDS", "3-4")
    assert main(PROOF, ["--processes", "1"]) == 0
    assert "seeds 3-4;" in capsys.readouterr().out


def test_progress_of_other_code_does_not_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(PROOF, ["--seeds", "0-3", "--processes", "1"])
    monkeypatch.setattr(runner, "code_digest", lambda _: "other")
    main(PROOF, ["--seeds", "2-3", "--processes", "1"])
    out = capsys.readouterr().out
    assert "4 seeds were proven with other code and do not count" in out
    assert "seeds 2-3; code other" in out


def test_nothing_proven_is_no_proof(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(PROOF, ["--seconds", "0"]) == 1
    assert "seeds none" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "x", "3-", "-3", "5-4", "1-99999999999", "1-2-3"])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="SEEDS is"):
        seed_range(text)


def test_missing_seeds_skip_what_is_proven() -> None:
    progress = Progress(code="")
    for seed in (5, 2, 3, 9):
        progress.add(seed, Outcome())
    assert progress.ranges == [(2, 3), (5, 5), (9, 9)]
    assert list(progress.missing(0, 10)) == [0, 1, 4, 6, 7, 8, 10]
    assert list(progress.missing(3, 4)) == [4]
    assert list(progress.missing(2, 3)) == []
