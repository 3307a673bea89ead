from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError

from core import write_behind
from core.write_behind import WriteBehindBuffer

pytestmark = pytest.mark.both_databases

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Rows:
    """A table that refuses what it is told to."""

    def __init__(self) -> None:
        self.written: list[dict[str, int]] = []
        self.refuses = False

    def write(self, found: dict[str, int]) -> None:
        if self.refuses:
            raise OperationalError
        self.written.append(found)


@pytest.fixture
def rows() -> Rows:
    return Rows()


def test_a_key_is_written_once_and_in_order(rows: Rows) -> None:
    kept: WriteBehindBuffer[str, int] = WriteBehindBuffer(rows.write)
    for key, value in (("b", 1), ("a", 2), ("b", 3)):
        kept.put(key, value, NOON)

    kept.flush()
    kept.flush()

    assert [list(each.items()) for each in rows.written] == [[("a", 2), ("b", 1)]]


def test_a_key_is_written_again_after_its_time(rows: Rows) -> None:
    kept: WriteBehindBuffer[str, int] = WriteBehindBuffer(rows.write, again_after=timedelta(hours=1))
    for minutes in (0, 59, 60):
        kept.put("a", minutes, NOON + timedelta(minutes=minutes))
        kept.flush()

    assert rows.written == [{"a": 0}, {"a": 60}]


def test_what_the_database_refuses_waits_on_unless_it_was_forgotten(rows: Rows) -> None:
    kept: WriteBehindBuffer[str, int] = WriteBehindBuffer(rows.write)
    kept.put("a", 1, NOON)
    rows.refuses = True
    with pytest.raises(OperationalError):
        kept.flush()
    rows.refuses = False

    kept.flush()
    assert rows.written == [{"a": 1}]

    kept.put("b", 2, NOON)
    kept.clear()
    kept.flush()
    assert rows.written == [{"a": 1}]


def test_neither_what_is_known_nor_what_waits_grows_without_end(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_behind, "MAX_SEEN_KEYS", 3)
    kept: WriteBehindBuffer[str, int] = WriteBehindBuffer(rows.write)
    for number in range(10):
        kept.put(f"{number}", number, NOON)

    kept.flush()

    assert rows.written == [{"7": 7, "8": 8, "9": 9}]
    assert kept.is_due("0", NOON)
    assert not kept.is_due("9", NOON)
