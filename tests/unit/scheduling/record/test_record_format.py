"""Records of another format are refused with a clear message; prose is no part of the format."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, nodes, queue
from tests.unit.scheduling.recording import Recording
from tests.unit.scheduling.world import World
from vc.scheduling.record import frames
from vc.scheduling.record.frames import FrameError
from vc.scheduling.record.replay import replay


def recorded() -> Recording:
    recording = Recording(World(nodes(1), queue(), *gang("g", 1)))
    recording.session()
    return recording


def test_a_session_of_another_format_is_refused_with_the_release_that_recorded_it() -> None:
    (entry,) = recorded().entries
    old = msgspec.structs.replace(entry, types="0123456789abcdef", release="0.0.9")
    with pytest.raises(FrameError, match=r"recorded by release 0\.0\.9 in another format"):
        replay([old])
    assert replay([entry]).same


def test_the_version_of_the_layout_is_part_of_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    before = frames.types_digest()
    monkeypatch.setattr(frames, "FORMAT", "0")
    assert frames.types_digest.__wrapped__() != before


def test_docstrings_are_no_part_of_the_format() -> None:
    class Field(msgspec.Struct):
        """Said in one way."""

        description: str
        amount: int

    _, schemas = msgspec.json.schema_components([Field])
    plain = frames._without_prose(schemas)
    assert plain["Field"]["properties"].keys() == {"description", "amount"}
    assert "description" not in plain["Field"]
