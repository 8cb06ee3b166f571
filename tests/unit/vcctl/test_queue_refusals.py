"""`vcctl queue`: what is refused before a server is asked, and amounts as people write them."""

import json

import pytest

from tests.unit.vcctl.server import Answer, Asked, answer, serving
from vc.cli.vcctl.commands.queues.queues import WIDE_FIELDS, QueueRows
from vc.cli.vcctl.main import main


def made(asked: Asked) -> Answer:
    body = json.loads(asked.body) if asked.body else {"metadata": {"name": "root"}}
    body["metadata"] = {**body.get("metadata", {}), "uid": "u"}
    return answer(body)


def left_with(url: str, *words: str) -> object:
    with pytest.raises(SystemExit) as left:
        main(["queue", *words, "-s", url])
    return left.value.code


def test_root_cannot_be_closed_and_no_command_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(made) as (url, asked):
        assert left_with(url, "operate", "-n", "root", "-a", "close") == 1
        assert asked == []
        said = capsys.readouterr()
        assert "successfully" not in said.out
        assert "queue 'root' cannot be closed" in said.err
        assert left_with(url, "operate", "-n", "root", "-a", "open") == 0
    assert [one.method for one in asked] == ["GET", "POST"], "opening it is harmless, as upstream"


@pytest.mark.parametrize("weight", ["0", "-1", "65536", "heavy", "1.5"])
@pytest.mark.parametrize(
    "words", [["create", "-n", "q"], ["operate", "-n", "q", "-a", "update"]], ids=" ".join
)
def test_a_weight_out_of_range_is_refused(
    words: list[str], weight: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(made) as (url, asked):
        assert left_with(url, *words, f"-w={weight}") == 2
    assert asked == []
    assert f"{weight!r}: a weight must be a number from 1 to 65535" in capsys.readouterr().err


def test_a_weight_that_would_have_no_effect_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(made) as (url, asked):
        assert left_with(url, "operate", "-n", "q", "-a", "close", "-w", "5") == 2
        assert left_with(url, "operate", "-n", "q", "-a", "update") == 2
    assert asked == []
    said = capsys.readouterr().err
    assert "-w goes with -a update" in said
    assert "update needs a weight from 1 to 65535" in said


def test_a_wide_list_has_amounts_as_people_write_them() -> None:
    rows = QueueRows(None, wide=True)  # type: ignore[arg-type] # asks nobody for a row
    allocated = {"nvidia.com/gpu": "76800m", "memory": "16426541057", "cpu": "500m"}
    row = rows.row({"metadata": {"name": "q"}, "status": {"allocated": allocated}})
    shown = dict(zip(WIDE_FIELDS, row[-len(WIDE_FIELDS) :], strict=True))
    assert shown["allocated"] == "cpu=0.5,memory=15.29Gi,nvidia.com/gpu=76.8"
