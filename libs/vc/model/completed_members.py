"""Members of a gang that succeeded and whose pods are gone, as an annotation of its PodGroup.

The job-controller writes it from the records in the job's status, and the scheduler counts it for
the gang. It is JSON that maps a task's name to the indices of its members:
`{"ps":"0","worker":"0-3,5"}`. It has indices rather than counts, because a reader whose pods are
older than the group may still see a pod of such an index, and must count the index once.

The text is bounded, because annotations of an object share 256 KiB. Members that do not fit are
left out: a gang that counts too few of them waits, but one that counts too many would be bound in
part.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from vc.model.values.index_runs import Runs, count_without, format_runs, read_runs, runs_of

TEXT_LENGTH_MAX: Final = 16 * 1024

_decoder = msgspec.json.Decoder(dict[str, str])


def format_completed(members: Mapping[str, Collection[int]]) -> str:
    """The annotation's text; empty if there are no members."""
    written: dict[str, str] = {}
    left = TEXT_LENGTH_MAX - len("{}")
    # Sorted, so that equal members give the same text and an unchanged annotation is not written.
    for task, indices in sorted(members.items()):
        # Count the JSON around the text as well, so that the limit holds for the whole annotation.
        left -= len(f'"{task}":"",')
        text = _cut(format_runs(runs_of(indices)), left)
        if text:
            written[task] = text
            left -= len(text)
    return msgspec.json.encode(written).decode() if written else ""


def _cut(text: str, length_max: int) -> str:
    """The text shortened to the limit at a run boundary."""
    if len(text) <= length_max:
        return text
    # One character more: a run that ends exactly at the limit is complete if a comma follows it.
    return text[: max(0, length_max) + 1].rpartition(",")[0]


def read_completed(text: str) -> dict[str, Runs]:
    """The parsed annotation; an invalid text has no members."""
    # A longer text was not written by us, and parsing it would cost time.
    if not text or len(text) > TEXT_LENGTH_MAX:
        return {}
    try:
        written = _decoder.decode(text)
    except ValueError:  # from msgspec, or for texts that are not UTF-8
        return {}
    found = {task: read_runs(runs) for task, runs in sorted(written.items())}
    return {task: runs for task, runs in found.items() if runs}


def remembered(runs: Runs, counted: Collection[int]) -> int:
    """How many members of a task count only by the annotation;
    members in `counted` have pods of their own.
    """
    return count_without(runs, counted) if runs else 0
