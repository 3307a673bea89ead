import json
from pathlib import Path

import pytest

from benchmarks import discovery
from registry.catalog import builder
from registry.catalog.model import Catalog
from tests.support.rows.op_entries import build_op_entry


@pytest.fixture
def catalog() -> Catalog:
    ops = [
        build_op_entry("onto.task.create", summary="Create a task", keywords=["add"]),
        build_op_entry("onto.task.list", summary="List tasks"),
    ]
    return builder.build_catalog("v" * 64, {"groups": [], "ops": ops})


def write_lines(path: Path, *lines: dict[str, object]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def test_op_among_the_first_hits_takes_two_calls(catalog: Catalog, tmp_path: Path) -> None:
    requests = write_lines(tmp_path / "a", {"request": "create a task", "op": "onto.task.create", "args": {}})
    plain = write_lines(tmp_path / "b", {"request": "list tasks", "ops": ["onto.task.list"]})

    calls, tokens = discovery.measure_discovery(catalog, requests)

    assert calls.value == 2
    assert tokens.value > 0
    assert discovery.measure_plain_requests(catalog, plain).value == 1


def test_op_that_no_search_shows_is_found_from_the_root(catalog: Catalog, tmp_path: Path) -> None:
    requests = write_lines(tmp_path / "a", {"request": "zzzz", "op": "onto.task.create", "args": {}})
    plain = write_lines(tmp_path / "b", {"request": "zzzz", "ops": ["onto.task.list"]})

    calls, _ = discovery.measure_discovery(catalog, requests)

    assert discovery.measure_plain_requests(catalog, plain).value == 0
    assert calls.value == 6  # search, root, onto, onto.task, the op, exec


def test_request_for_an_op_that_does_not_exist_is_refused(catalog: Catalog, tmp_path: Path) -> None:
    requests = write_lines(tmp_path / "a", {"request": "x", "op": "onto.task.fly", "args": {}})

    with pytest.raises(discovery.InvalidRequestSet, match=r"onto\.task\.fly"):
        discovery.measure_discovery(catalog, requests)
