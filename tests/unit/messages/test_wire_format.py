"""The wire format: golden files, one version, equal bytes under any hash seed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.messages.golden import FOLDER, as_text
from tests.unit.messages.samples import SAMPLES
from vc.messages.codec import HEADER_CONTENT_TYPE, HEADER_SCHEMA, SCHEMA_VERSION, decode
from vc.messages.facts import identity_of, object_of
from vc.messages.plugins import PluginAnnouncement, PluginReply, PluginRequest
from vc.messages.progress import progress_of
from vc.messages.record import Message, Record

REPOSITORY = Path(__file__).parents[3]

PRINT_ALL = """
from tests.unit.messages.golden import as_text
from tests.unit.messages.samples import SAMPLES
for name, message in SAMPLES.items():
    print(name, as_text(message))
"""


@pytest.mark.parametrize("name", SAMPLES)
def test_the_bytes_are_the_golden_ones(name: str) -> None:
    written = (FOLDER / f"{name}.txt").read_text()
    assert as_text(SAMPLES[name]) == written, (
        "the wire format changed; if that is meant, run "
        "`.venv/bin/python -m tests.unit.messages.golden` and read the difference"
    )


def test_no_golden_file_is_left_over() -> None:
    assert {file.stem for file in FOLDER.glob("*.txt")} == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_message_names_its_schema(name: str) -> None:
    headers = SAMPLES[name].headers
    assert headers[HEADER_SCHEMA] == str(SCHEMA_VERSION)
    assert headers[HEADER_CONTENT_TYPE] == "application/msgpack"


def printed_under(hash_seed: str) -> bytes:
    run = subprocess.run(
        [sys.executable, "-c", PRINT_ALL],
        env={"PYTHONHASHSEED": hash_seed, "PATH": ""},
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return run.stdout


def test_two_hash_seeds_give_the_same_bytes() -> None:
    assert printed_under("1") == printed_under("4711") != b""


def as_record(message: Message) -> Record:
    return Record(
        topic=message.topic,
        partition=message.partition,
        offset=0,
        key=message.key,
        value=message.value,
        headers=message.headers,
    )


def test_everything_can_be_read_back() -> None:
    records = {name: as_record(message) for name, message in SAMPLES.items()}
    assert object_of(records["fact-pod"]).metadata.name == "train-worker-0"
    assert identity_of(records["fact-job"]).traceparent.startswith("00-0af7")
    assert identity_of(records["tombstone-pod"]).uid == "pod-uid"
    assert identity_of(records["fence"]).stamp.epoch == 3
    assert progress_of(records["progress"]).end_offsets[11] == 11
    for name, kind in (
        ("plugin-request", PluginRequest),
        ("plugin-reply", PluginReply),
        ("plugin-announcement", PluginAnnouncement),
    ):
        record = records[name]
        assert isinstance(decode(record.value or b"", into=kind, headers=record.headers), kind)
