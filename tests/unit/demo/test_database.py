"""Database: one SELECT at a time, read-only, with limits."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core.handler_contract import InvalidArgs, NotFound
from demo import database, example_database
from tests.support.loops import for_each
from tests.support.rows.example_domains import create_data, find_field_error, respond, run

ALL_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
ENDLESS = " ".join([ALL_NUMBERS, "SELECT COUNT(*) FROM n"])
CROSS_JOIN = "SELECT COUNT(*) FROM deals" + " CROSS JOIN deals" * 20


def build_query_slow_to_compile() -> str:
    """Return a query of 30 parts, each of which has the one before twice."""
    parts = ["c0 AS (SELECT 1 AS a)"]
    for number in range(30):
        before = f"(SELECT a FROM c{number})"  # noqa: S608 - a number
        parts.append(f"c{number + 1} AS (SELECT {before} + {before} AS a)")
    return " ".join(["WITH", ", ".join(parts), "SELECT a FROM c30"])


@pytest.fixture(autouse=True)
def _data(settings: Any, tmp_path: Path) -> None:
    create_data(settings, tmp_path)


def test_tables_are_listed_and_described() -> None:
    assert run("list_tables")["tables"] == [{"name": "contacts", "rows": 5}, {"name": "deals", "rows": 5}]

    columns = run("describe_table", table="DEALS")["columns"]

    assert columns[0] == {"name": "id", "type": "TEXT", "required": False, "primary_key": True}
    assert {"name": "value_eur", "type": "INTEGER", "required": True, "primary_key": False} in columns


@for_each("table", ["sqlite_schema", "contacts; DROP TABLE deals", 'contacts"', "x"])
def test_unknown_table_gets_the_names(table: str) -> None:
    with pytest.raises(NotFound, match="contacts, deals"):
        run("describe_table", table=table)


def test_query_returns_columns_and_rows() -> None:
    result = run("run_query", query="SELECT stage, COUNT(*) AS deals FROM deals GROUP BY stage ORDER BY stage;")

    assert (result["columns"], result["has_more"]) == (["stage", "deals"], False)
    assert result["rows"] == [["lost", 1], ["offered", 1], ["open", 2], ["won", 1]]


@for_each(
    "query",
    [
        "SELECT name FROM contacts WHERE id IN (SELECT contact_id FROM deals WHERE value_eur > 10000)",
        "WITH won AS (SELECT * FROM deals WHERE stage = 'won') SELECT title FROM won",
        "SELECT upper(company), json_group_array(name) FROM contacts GROUP BY company",
        "SELECT title, rank() OVER (ORDER BY value_eur) FROM deals UNION ALL SELECT name, 0 FROM contacts",
        "VALUES (1, 'a')",
    ],
)
def test_selects_of_every_form_run(query: str) -> None:
    assert run("run_query", query=query)["rows"]


def test_rows_and_cells_are_limited() -> None:
    result = run("run_query", query="SELECT id FROM contacts", max_rows=2)
    assert (len(result["rows"]), result["has_more"]) == (2, True)

    wide = " ".join([ALL_NUMBERS, "SELECT", ", ".join(["hex(zeroblob(900))"] * 9), "FROM n"])
    result = run("run_query", query=wide, max_rows=200)
    assert (len(result["rows"]), result["has_more"]) == (4, True)

    cut = respond("run_query", {"query": "SELECT printf('%.*c', 900, 'x'), x'0102', 1e999"})
    assert [cut.result["rows"][0][index] for index in (0, 1)] == ["x" * 500, "2 bytes"]
    assert cut.warnings


@for_each(
    "query",
    [
        "DELETE FROM contacts",
        "UPDATE deals SET stage = 'won'",
        "INSERT INTO deals SELECT * FROM deals",
        "WITH x AS (SELECT 1) DELETE FROM contacts",
        "DROP TABLE contacts",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x AS SELECT 1",
        "PRAGMA writable_schema = 1",
        "PRAGMA table_info(contacts)",
        "SELECT * FROM pragma_table_info('contacts')",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM sqlite_schema",
        "ATTACH DATABASE '/etc/passwd' AS x",
        "VACUUM INTO 'copy.sqlite3'",
        "BEGIN",
        "ANALYZE",
        "REINDEX",
        "SELECT load_extension('x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT 1; DELETE FROM contacts",
        "SELECT 1; SELECT 2",
        "SELECT hidden FROM contacts",
        "SELECT * FROM hidden",
        "SELEC hidden",
        "SELECT zeroblob(1000000000)",
        "SELECT replace(hex(zeroblob(40000)), '0', 'xxxxxxxx')",
        "-- nothing",
        ";",
        "SELECT 'a\x00b",
        "SELECT name FROM contacts WHERE name LIKE '" + "%a" * 100 + "'",
        "SELECT " + "(" * 500 + "1" + ")" * 500,
        "SELECT ?",
    ],
)
def test_everything_else_is_refused_without_repeating_it(query: str) -> None:
    before = example_database.get_path().read_bytes()

    with pytest.raises(InvalidArgs) as error:
        run("run_query", query=query)

    assert find_field_error(error.value) == ("/query", "query_refused")
    assert "hidden" not in str(error.value)
    assert example_database.get_path().read_bytes() == before
    assert sorted(each.name for each in example_database.get_path().parent.iterdir()) == ["examples.sqlite3", "files"]


@pytest.mark.parametrize(
    "query", [ENDLESS, CROSS_JOIN, build_query_slow_to_compile()], ids=["endless", "join", "parts"]
)
def test_slow_query_is_stopped(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MAX_SECONDS", 0.1)
    started = time.monotonic()

    with pytest.raises(InvalidArgs, match=r"was stopped|too much memory"):
        run("run_query", query=query)

    assert time.monotonic() - started < 5


def test_query_that_needs_much_memory_or_disk_is_stopped() -> None:
    large = "SELECT i, hex(randomblob(4000)) AS b FROM n ORDER BY b"
    with pytest.raises(InvalidArgs) as error:
        run("run_query", query=f"{ALL_NUMBERS} {large}")
    assert "too much memory" in str(error.value)
    assert find_field_error(error.value) == ("/query", "query_refused")


def test_reading_does_not_keep_a_write_waiting() -> None:
    run("run_query", query="SELECT * FROM contacts", max_rows=1)

    with closing(sqlite3.connect(example_database.get_path(), timeout=0)) as writer:
        writer.execute("UPDATE deals SET value_eur = 1")
        writer.commit()
