"""The copy that ships: short, whole, true, and every example runs."""

import re
import statistics
from collections.abc import Iterator
from typing import Any

import pytest

from analytics import events
from analytics.models import OperationEvent
from core import tokens
from registry import checks, help, loader, schemas, search, snapshot
from registry.catalogs import EVERYTHING, Catalog, build
from registry.help import HelpQuery
from tests.conftest import Api
from workspace.handlers import HANDLERS

SHIPPED = loader.read()
OPS = {op["op"]: op for op in SHIPPED["ops"]}
GROUPS = {group["path"]: group for group in SHIPPED["groups"]}
EXAMPLES = [
    pytest.param(path, example["args"], id=f"{path}-{number}")
    for path, op in OPS.items()
    for number, example in enumerate(op["examples"])
]
# Words with an underscore that a result holds, beside the names of arguments.
RESULT_FIELDS = {"next_cursor", "has_more", "completed_at", "project_id", "work_mode"}


@pytest.fixture(scope="module")
def found() -> Catalog:
    return build("v" * 64, SHIPPED)


def count(found: Catalog, **query: Any) -> int:
    return tokens.count(help.answer(found, HelpQuery(**query)).body.decode())


def argument_names(schema: Any) -> set[str]:
    """Return the names of a schema's arguments at every level."""
    if isinstance(schema, list):
        return set().union(*map(argument_names, schema))
    if not isinstance(schema, dict):
        return set()
    named = schema.get("properties", {})
    below = (argument_names(value) for key, value in schema.items() if key != schemas.VALUE_ALIASES)
    return (set(named) if isinstance(named, dict) else set()).union(*below)


def sentences(entry: Any) -> Iterator[str]:
    """Yield all that a model reads of an op but its examples' args."""
    yield from (entry[name] for name in ("summary", "description", "notes") if name in entry)
    for texts in entry.get("policy", {}).values():
        yield from texts
    for example in entry["examples"]:
        yield from (example[name] for name in ("title", "note") if name in example)
    yield from _descriptions(entry["parameters_schema"])


def _descriptions(schema: Any) -> Iterator[str]:
    for argument in schema.get("properties", {}).values():
        yield argument["description"]
        yield from _descriptions(argument)
        yield from _descriptions(argument.get("items", {}))


def test_it_has_no_problems() -> None:
    assert checks.problems(SHIPPED) == []


def test_every_op_has_a_handler_and_every_handler_an_op() -> None:
    named = [op["tool_name"] for op in OPS.values() if op["connection"] == "workspace"]

    assert sorted(named) == sorted(HANDLERS)


def test_every_group_holds_an_op() -> None:
    for path in set(GROUPS) - {"root"}:
        assert any(op.startswith(f"{path}.") for op in OPS), path


@pytest.mark.parametrize("path", [*GROUPS, *OPS])
def test_a_summary_is_one_line_of_at_most_12_words(path: str) -> None:
    summary = (GROUPS | OPS)[path]["summary"]

    assert 2 <= len(summary.split()) <= 12
    assert summary == " ".join(summary.split())
    assert not summary.endswith(".")


@pytest.mark.parametrize("path", OPS)
def test_an_op_says_all_that_a_model_needs(path: str) -> None:
    op = OPS[path]
    policy = op.get("policy", {})

    assert op["description"].endswith(".")
    assert op["keywords"]
    assert op["contexts"]
    assert len(op["examples"]) >= 2
    assert policy.get("do")
    assert policy.get("dont") or op["kind"] == "read"
    assert op["action"]
    assert op["parameters_schema"]["additionalProperties"] is False
    assert all(len(sentence) <= 300 for texts in policy.values() for sentence in texts)


@pytest.mark.parametrize("path", OPS)
def test_the_first_example_is_the_minimal_one(path: str) -> None:
    sizes = [len(str(example["args"])) for example in OPS[path]["examples"]]

    assert sizes[0] == min(sizes)


@pytest.mark.parametrize("path", OPS)
def test_names_in_the_copy_exist(path: str) -> None:
    said = " ".join(sentences(OPS[path]))
    names = argument_names(OPS[path]["parameters_schema"]) | set(OPS[path].get("display_only", []))
    everywhere = RESULT_FIELDS.union(*(argument_names(op["parameters_schema"]) for op in OPS.values()))

    assert set(re.findall(r"\b(?:onto|util|cal)(?:\.[a-z_]+)+", said)) <= set(OPS) | set(GROUPS)
    assert set(re.findall(r"`([^`]+)`", said)) <= names | set(OPS)
    assert set(re.findall(r"(?<![.<\w])[a-z]+_[a-z_]+\b", said)) <= names | everywhere


@pytest.mark.parametrize("path", OPS)
def test_every_argument_is_described_and_alternative_names_lead_somewhere(path: str) -> None:
    schema = OPS[path]["parameters_schema"]

    assert all(_descriptions(schema))
    for argument in schema["properties"].values():
        for meant in argument.get(schemas.VALUE_ALIASES, {}).values():
            assert schemas.instance_problems({"type": "object", "properties": {"v": argument}}, {"v": meant}) == []


def test_help_is_small(found: Catalog) -> None:
    short = {path: count(found, path=path) for path in OPS}
    full = {path: count(found, path=path, format="full") for path in OPS}

    assert statistics.median(short.values()) <= 180
    assert statistics.median(full.values()) <= 450, full
    assert count(found) <= 120
    assert max(count(found, path=path) for path in GROUPS) <= 300


@pytest.mark.parametrize("path", OPS)
def test_an_op_is_found_by_its_summary_and_first_keyword(found: Catalog, path: str) -> None:
    view = found.view(EVERYTHING)

    assert path in search.find(found, view, OPS[path]["summary"], limit=2)
    assert path in search.find(found, view, OPS[path]["keywords"][0], limit=8)


@pytest.mark.django_db
def test_it_loads_and_comes_back_whole(live_catalog: Catalog) -> None:
    draft = snapshot.draft()

    assert set(live_catalog.ops) == set(OPS)
    assert [group["path"] for group in draft["groups"]] == sorted(GROUPS)


@pytest.mark.parametrize(("path", "args"), EXAMPLES)
def test_an_example_runs_as_it_stands(api: Api, path: str, args: dict[str, Any]) -> None:
    answer = api.exec(path, args)

    assert answer["ok"] is True, answer
    assert answer["op"] == path
    assert answer["result"]
    events.flush()
    event = OperationEvent.objects.get(type="exec")
    assert (event.op, event.ok, event.status) == (path, True, 200)
    assert (event.entity, event.action, event.kind) == (
        OPS[path].get("entity", ""),
        OPS[path]["action"],
        OPS[path]["kind"],
    )
    if OPS[path]["kind"] == "write":
        assert event.entity_id


@pytest.mark.parametrize(("path", "args"), EXAMPLES)
def test_an_example_runs_without_a_warning_but_for_what_is_unchanged(api: Api, path: str, args: Any) -> None:
    assert set(api.exec(path, args)["meta"]["warnings"]) <= {"unchanged"}


@pytest.mark.parametrize("path", OPS)
def test_usage_can_be_sent_once_its_placeholders_are_filled(found: Catalog, path: str) -> None:
    usage = help.orjson.loads(help.answer(found, HelpQuery(path=path, format="full")).body)["usage"]
    example = OPS[path]["examples"][0]["args"]

    def filled(value: Any, sample: Any) -> Any:
        if isinstance(value, dict):
            return {name: filled(item, sample[name]) for name, item in value.items()}
        return sample if isinstance(value, str) and value.startswith("<") else value

    args = filled(usage["args"], example)
    assert usage["op"] == path
    assert schemas.instance_problems(OPS[path]["parameters_schema"], args) == []
