"""A header name that is not UTF-8: the record is read, and so are the records after it."""

from typing import Any

import pytest
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from aiokafka.record.memory_records import MemoryRecords

from vc.bus.kafka.lenient_records import LenientRecords

PLAIN, GZIP = 0, 1


class NoUtf8(str):
    def encode(self, *_: Any, **__: Any) -> bytes:
        return b"sch\xffema"


def batch(compression: int) -> bytes:
    """Five records; the third is damaged."""
    builder = _DefaultRecordBatchBuilderPy(
        magic=2, compression_type=compression, is_transactional=0, producer_id=-1,
        producer_epoch=-1, base_sequence=-1, batch_size=100_000,
    )  # fmt: skip
    for at in range(5):
        name = NoUtf8() if at == 2 else "schema"
        builder.append(at, timestamp=1, key=b"k", value=b"v", headers=[(name, b"1")])
    return bytes(builder.build())


@pytest.mark.parametrize("compression", [PLAIN, GZIP])
def test_the_damaged_record_and_those_behind_it_are_read(compression: int) -> None:
    records = LenientRecords(batch(compression) + batch(compression))
    for _ in range(2):
        found = records.next_batch()
        assert found is not None
        assert found.validate_crc()
        names = [record.headers[0][0] for record in found]
        assert names == ["schema", "schema", "sch\ufffdema", "schema", "schema"]
    assert not records.has_next()


def test_the_library_itself_stands_before_it() -> None:
    """Once it does not, all of this can go."""
    with pytest.raises(UnicodeDecodeError):
        list(MemoryRecords(batch(PLAIN)).next_batch())
