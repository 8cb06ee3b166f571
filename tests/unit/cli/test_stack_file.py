"""stack.json is whole, private and distrusted."""

import os
from pathlib import Path

import pytest

from vc.cli.pyroclast.processes import Pid, start_id_of
from vc.cli.pyroclast.stack import stack_file
from vc.cli.pyroclast.stack.stack_file import NoStackError, ProcessEntry, StackFile
from vc.cli.pyroclast.stack.welcome import welcome


def own_pid() -> Pid:
    return Pid(number=os.getpid(), start_id=start_id_of(os.getpid()))


def sample() -> StackFile:
    gone = Pid(number=os.getpid(), start_id="another boot/1")
    return StackFile(
        supervisor=own_pid(),
        started_at=1.0,
        cluster="embedded",
        kubeconfig="/k",
        kafka="127.0.0.1:9092",
        redis="redis://:secret@127.0.0.1:6379/0",
        processes=[
            ProcessEntry(name="kafka", role="server", pid=gone, started_at=1.0, log="k.log"),
            ProcessEntry(name="watcher", role="service", pid=own_pid(), started_at=2.0, log="w"),
        ],
    )


def test_what_is_written_is_read_back_and_only_the_owner_may_read_it(tmp_path: Path) -> None:
    stack_file.write(tmp_path, sample())
    assert stack_file.read(tmp_path) == sample()
    assert (tmp_path / "stack.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["stack.json"]


def test_only_processes_that_still_are_the_same_count_as_running() -> None:
    assert [entry.name for entry in sample().running()] == ["watcher"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read"),
        ('{"format": 99, "supervisor": {"number": 1, "birth": ""}}', "cannot be read"),
        (
            '{"format": 99, "supervisor": {"number": 1, "birth": ""}, "started_at": 1, "cluster": "x"}',
            "another version",
        ),
    ],
    ids=["an empty file", "a file that lacks fields", "a file of another version"],
)
def test_a_file_that_cannot_be_used_is_said(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "stack.json").write_text(text)
    with pytest.raises(NoStackError, match=says):
        stack_file.read(tmp_path)


def test_no_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(NoStackError, match="`pyroclast stack` starts one"):
        stack_file.read(tmp_path)


def test_the_welcome_shows_addresses_but_no_password() -> None:
    text = welcome(sample(), Path("/home"))
    assert "127.0.0.1:6379" in text
    assert "secret" not in text
    assert "1 services" in text
    assert "PYROCLAST_DASHBOARD_URL" not in text


def test_the_welcome_says_where_vcctl_asks_when_the_api_server_cannot_pass_it_on() -> None:
    file = sample()
    file.dashboard = "http://127.0.0.1:8080"
    assert "PYROCLAST_DASHBOARD_URL" not in welcome(file, Path("/home"))
    file.cluster = "kubernetes"
    assert "export PYROCLAST_DASHBOARD_URL=http://127.0.0.1:8080 " in welcome(file, Path("/home"))
    file.dashboard = ""
    assert "PYROCLAST_DASHBOARD_URL" not in welcome(file, Path("/home")), "it does not run"
