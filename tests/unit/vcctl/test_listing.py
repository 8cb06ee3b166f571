"""`--watch` through a pipe: each change is there at once, each document can be read, and few questions."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
import yaml

from tests.unit.vcctl.server import Answer, Answers, Asked, answer, serving
from vc.cli.tables import Column, TextTable
from vc.cli.vcctl.api.errors import CtlError
from vc.cli.vcctl.api.resources import QUEUES, JsonObject
from vc.cli.vcctl.output import listing
from vc.cli.vcctl.output.listing import Followed, Listing

FAR_SECONDS = 10.0


def queue(name: str, *, version: int = 1) -> JsonObject:
    metadata = {"name": name, "resourceVersion": str(version)}
    return {"kind": "Queue", "metadata": metadata, "spec": {"weight": version}}


def cluster(over: threading.Event) -> Answers:
    """One queue, then a change of it, then silence until it is over."""

    def answers(asked: Asked) -> Answer:
        if "watch=true" not in asked.path:
            items = [] if "podgroups" in asked.path else [queue("first")]
            return answer({"items": items, "metadata": {"resourceVersion": "1"}})
        if "resourceVersion=2&" in asked.path:
            over.wait(FAR_SECONDS)
        return answer({"type": "MODIFIED", "object": queue("first", version=2)})

    return answers


def lines_of(words: list[str], enough: Callable[[str], bool]) -> str:
    """What comes through a pipe until it is enough, with Python's usual buffering."""
    over = threading.Event()
    with serving(cluster(over)) as (url, _):
        code = "from vc.cli.vcctl.main import main; import sys; main(sys.argv[1:])"
        process = subprocess.Popen(
            [sys.executable, "-c", code, "queue", "list", "--watch", "-s", url, *words],
            env={"KUBECONFIG": "", "HOME": "/nonexistent"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        watchdog = threading.Timer(FAR_SECONDS, process.kill)
        watchdog.start()
        text = ""
        try:
            while not enough(text) and (line := process.stdout.readline()):
                text += line
        finally:
            watchdog.cancel()
            over.set()
            process.kill()
            process.wait()
            process.stdout.close()
    assert enough(text), text
    return text


def test_rows_come_at_once() -> None:
    shown = lines_of([], lambda text: text.count("\nfirst ") == 2)
    assert shown.startswith("Name ")


def test_watched_yaml_is_a_stream_of_documents() -> None:
    shown = lines_of(["-o", "yaml"], lambda text: text.count("weight: ") == 2)
    found = list(yaml.safe_load_all(shown))
    assert [document["spec"]["weight"] for document in found] == [1, 2]


def test_watched_json_is_a_stream_of_documents() -> None:
    shown = lines_of(["-o", "json"], lambda text: text.count("\n}\n") == 2)
    first, end = json.JSONDecoder().raw_decode(shown)
    second, _ = json.JSONDecoder().raw_decode(shown[end:].lstrip())
    assert [first["spec"]["weight"], second["spec"]["weight"]] == [1, 2]


# -- rows that need more than their object -----------------------------------------------------------


class Counting:
    """Rows made of a count that is asked for."""

    def __init__(self) -> None:
        self.looks = 0
        self.fault: Exception | None = None
        self.looked = threading.Event()

    def refresh(self) -> None:
        self.looks += 1
        self.looked.set()
        if self.fault is not None:
            raise self.fault

    def followed(self) -> Followed:
        shown = Listing(
            resource=QUEUES, columns=[Column("Name")], row=self.row, refresh=self.refresh
        )
        return Followed(shown, table=TextTable([Column("Name")], []), rows={})

    def row(self, item: JsonObject) -> list[str]:
        return [f"{item['metadata']['name']}-{item['spec']['weight']}-{self.looks}"]


def test_a_storm_of_changes_is_one_look_and_the_last_of_them_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(listing, "REFRESH_SECONDS", 0.05)
    counting = Counting()
    followed = counting.followed()
    for version in range(200):
        followed.take(queue("q", version=version))
    assert counting.looked.wait(FAR_SECONDS)
    with followed._lock:
        shown = capsys.readouterr().out
    assert (counting.looks, shown) == (1, "q-199-1\n")


def test_a_look_that_fails_is_told_with_the_next_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "REFRESH_SECONDS", 0.01)
    counting = Counting()
    counting.fault = CtlError("forbidden")
    followed = counting.followed()
    followed.take(queue("q"))
    assert counting.looked.wait(FAR_SECONDS)
    with followed._lock:
        pass
    with pytest.raises(CtlError, match="forbidden"):
        followed.take(queue("q", version=2))


def test_rows_that_need_nothing_else_do_not_wait(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Listing(resource=QUEUES, columns=[Column("Name")], row=lambda item: [item["kind"]])
    Followed(shown, table=TextTable([Column("Name")], []), rows={}).take(queue("q"))
    assert capsys.readouterr().out == "Queue\n"
