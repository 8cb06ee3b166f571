"""A slot is filled whole or not at all, once, and a failed build says where its log is."""

import sys
import threading
from pathlib import Path

import pytest

from vc.parts.errors import BuildFailedError, PartMissingError
from vc.parts.fetch import getting
from vc.parts.fetch.cache import Slot, size_bytes
from vc.parts.progress import log_tail, run_logged, silent


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    return Slot(tmp_path, "kafka", "4.3.1-linux")


def test_a_build_appears_only_when_it_is_complete(slot: Slot) -> None:
    def build(folder: Path) -> None:
        (folder / "jar").write_text("x" * 10)
        assert not slot.is_filled

    assert slot.fill(build, silent) is True
    assert (slot.folder / "jar").exists()
    assert size_bytes(slot.folder) == 10


def test_a_failed_build_leaves_no_folder(slot: Slot) -> None:
    def build(folder: Path) -> None:
        (folder / "half").touch()
        raise BuildFailedError("no.")

    with pytest.raises(BuildFailedError):
        slot.fill(build, silent)
    assert not slot.is_filled
    assert list(slot.root.glob("kafka/*.building")) == []


def test_what_a_killed_build_left_is_swept_away(slot: Slot) -> None:
    leftover = slot.folder.parent / (slot.key + ".building")
    leftover.mkdir(parents=True)
    (leftover / "old").touch()
    slot.fill(lambda folder: (folder / "new").touch(), silent)
    assert [path.name for path in slot.folder.iterdir()] == ["new"]


def test_two_builders_build_once(slot: Slot) -> None:
    builds = []
    first_is_in = threading.Event()

    def build(folder: Path) -> None:
        builds.append(folder)
        first_is_in.set()
        threading.Event().wait(0.2)

    first = threading.Thread(target=slot.fill, args=(build, silent))
    first.start()
    assert first_is_in.wait(5)
    waited: list[str] = []
    assert slot.fill(build, waited.append) is False
    first.join(5)
    assert len(builds) == 1
    assert waited == ["another process builds the same part; waiting for 4.3.1-linux.lock"]


def test_a_command_that_fails_names_its_log_and_shows_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = "print('first'); print('the cause'); raise SystemExit(3)"
    with pytest.raises(BuildFailedError) as caught:
        run_logged([sys.executable, "-c", script], cwd=tmp_path, log=log, what="go", say=silent)
    assert str(caught.value) == (
        f"go failed with exit code 3; the log is {log}, and its end is:\n  first\n  the cause"
    )


def test_a_command_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        BuildFailedError, match=r"^Cannot run /no/such: No such file or directory\.$"
    ):
        run_logged(["/no/such"], cwd=tmp_path, log=tmp_path / "log", what="x", say=silent)


def test_the_tail_of_a_long_log_is_short(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join(f"line {number}" for number in range(10_000)))
    assert log_tail(log, 2) == "  line 9998\n  line 9999"
    assert log_tail(tmp_path / "none") == "  (no log)"


def test_a_missing_maven_is_a_sentence_with_the_way_out(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "PYROCLAST_PARTS_CACHE": str(tmp_path / "cache")}
    with pytest.raises(PartMissingError) as caught:
        getting.obtain("kafka", env=env)
    assert "kafka is missing" in str(caught.value)
    assert "apt-get install maven" in str(caught.value)


def test_a_program_on_path_comes_before_a_build(tmp_path: Path) -> None:
    program = tmp_path / "redis-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = getting.obtain("redis", env={"PATH": str(tmp_path)})
    assert (found.source, found.path) == (getting.Source.MACHINE, program)


def test_a_cache_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    env = {"PATH": "", "PYROCLAST_PARTS_CACHE": str(blocked)}
    with pytest.raises(BuildFailedError, match="set PYROCLAST_PARTS_CACHE"):
        getting.obtain("redis", env=env)
