"""However the network cuts a stream into chunks, its lines are the same."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vc.cluster import ServerError
from vc.cluster.kubernetes_watch import LineSplitter

LINES = st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b"")), max_size=12)


@given(lines=LINES, cuts=st.lists(st.integers(min_value=0, max_value=500), max_size=30))
def test_any_chunking_gives_the_same_lines(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    splitter = LineSplitter()

    got = [
        line
        for start, end in itertools.pairwise(edges)
        for line in splitter.feed(stream[start:end])
    ]

    assert got == [line for line in lines if line]


@given(size=st.integers(min_value=1, max_value=64), step=st.integers(min_value=1, max_value=20))
def test_a_line_may_be_as_long_as_the_bound_and_not_longer(size: int, step: int) -> None:
    splitter = LineSplitter(line_bytes_max=32)
    stream = b"x" * size + b"\n"
    chunks = [stream[at : at + step] for at in range(0, len(stream), step)]

    def feed_all() -> list[bytes]:
        return [line for chunk in chunks for line in splitter.feed(chunk)]

    if size <= 32:
        assert feed_all() == [b"x" * size]
    else:
        with pytest.raises(ServerError, match="longer than 32 bytes"):
            feed_all()


def test_what_has_no_end_yet_waits() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b'{"a":') == []
    assert splitter.feed(b'1}\n\n{"b"') == [b'{"a":1}']
    assert splitter.feed(b":2}\n") == [b'{"b":2}']
