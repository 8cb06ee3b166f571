"""Golden files of the wire format: one text file per sort of message.

A change of these bytes is a change of what older releases read. Adding a field with a default shows
here and is fine; anything else is a new schema version. When the change is meant, write them again:

    .venv/bin/python -m tests.unit.messages.golden

and read the difference before it is committed.
"""

import json
from pathlib import Path

from tests.unit.messages.samples import SAMPLES
from vc.messages.record import Message

FOLDER = Path(__file__).parent / "golden"
_LINE_HEX_DIGITS = 96


def as_text(message: Message) -> str:
    """Readable where it can be, hexadecimal where it cannot."""
    head = {
        "topic": message.topic,
        "partition": message.partition,
        "key": message.key,
        "headers": message.headers,
        "value": None if message.value is None else f"{len(message.value)} bytes",
    }
    digits = (message.value or b"").hex()
    lines = [digits[at : at + _LINE_HEX_DIGITS] for at in range(0, len(digits), _LINE_HEX_DIGITS)]
    return "\n".join([json.dumps(head, indent=1, sort_keys=True), *lines]) + "\n"


def from_text(text: str) -> Message:
    """What `as_text` was told, from a file that an earlier release may have written."""
    head, _, digits = text.partition("\n}\n")
    told = json.loads(head + "}")
    value = None if told.pop("value") is None else bytes.fromhex(digits)
    return Message(**told, value=value)


def write() -> None:
    """Write every golden file."""
    FOLDER.mkdir(exist_ok=True)
    for name, message in SAMPLES.items():
        (FOLDER / f"{name}.txt").write_text(as_text(message))


if __name__ == "__main__":
    write()
