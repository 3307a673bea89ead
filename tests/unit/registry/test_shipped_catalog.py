"""The shipped catalog is short, complete and correct, and every example runs."""

import re
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from django.db.models import DateTimeField

from analytics.events import event_log
from analytics.events.models import OperationEvent
from core.text import token_budget
from gateway.access.request_context import UserContext
from gateway.arguments import normalise
from gateway.executors import in_process
from registry import search
from registry.catalog.builder import build_catalog
from registry.catalog.model import BUILT_IN_CONNECTIONS, FULL_VISIBILITY, Catalog
from registry.checks.text_locations import iter_subschemas
from registry.files import loader
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.jsonschema import dialect, validator
from tests.support.clients.api import EXAMPLE, Api
from tests.support.loops import for_each
from workspace.demo import DEMO_TASK_ID
from workspace.entity_types import CALENDAR, ENTITY_TYPE_BY_NAME, EVENT
from workspace.models.base import MAX_TAG_LENGTH, MAX_TAGS, TagsField

SHIPPED = loader.read_shipped_catalog()
ROWS = ENTITY_TYPE_BY_NAME | {kind.name: kind for kind in (EVENT, CALENDAR)}
OPS = {op["op"]: op for op in SHIPPED["ops"]}
GROUPS = {group["path"]: group for group in SHIPPED["groups"]}
UNDO = "onto.history.undo"  # of writes, which come before it
EXAMPLES = [(path, example["args"]) for path, op in OPS.items() for example in op["examples"]]
CREATES = [path for path, op in OPS.items() if op["action"] == "create" and op["connection"] == "workspace"]
UPDATES = [path for path, op in OPS.items() if op["action"] == "update" and op["connection"] == "workspace"]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return build_catalog("v" * 64, SHIPPED)


def count_help_tokens(catalog: Catalog, **query: Any) -> int:
    return token_budget.count(help_pages.answer_query(catalog, HelpQuery(**query)).body.decode())


def iterate_texts(entry: Any) -> Iterator[str]:
    """Yield all texts of an op that a model reads, except its examples' args."""
    yield from (entry[name] for name in ("summary", "description", "notes") if name in entry)
    for texts in entry.get("policy", {}).values():
        yield from texts
    for example in entry["examples"]:
        yield from (example[name] for name in ("title", "note") if name in example)
    yield from _iterate_descriptions(entry["parameters_schema"])


def _iterate_descriptions(schema: Any) -> Iterator[str]:
    for argument in schema.get("properties", {}).values():
        yield argument["description"]
        yield from _iterate_descriptions(argument)
        yield from _iterate_descriptions(argument.get("items", {}))


def iterate_defaults(schema: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield each argument that has a default, at every level, and the default."""
    for argument in schema.get("properties", {}).values():
        if "default" in argument:
            yield argument, argument["default"]
        yield from iterate_defaults(argument)
        yield from iterate_defaults(argument.get("items", {}))


@pytest.mark.parametrize("connection", sorted(BUILT_IN_CONNECTIONS))
def test_ops_and_handlers_match(connection: str) -> None:
    named = [op["tool_name"] for op in OPS.values() if op["connection"] == connection]

    assert sorted(named) == sorted(in_process.get_executor(connection).upstream.handlers)


@pytest.mark.parametrize("section", SHIPPED["sections"], ids=lambda section: f"{section['prompt']}-{section['name']}")
def test_prompt_names_existing_ops(section: dict[str, Any]) -> None:
    assert set(re.findall(r"\b(?:onto|util|cal)(?:\.[a-z_]+)+", section["text"])) <= set(OPS) | set(GROUPS)


def test_prompts_are_short() -> None:
    texts: dict[str, str] = {}
    for section in SHIPPED["sections"]:
        texts[section["prompt"]] = texts.get(section["prompt"], "") + section["text"]

    assert max(token_budget.count(text) for text in texts.values()) <= 450


def test_every_group_contains_an_op() -> None:
    for path in set(GROUPS) - {"root", "agents"}:
        assert any(op.startswith(f"{path}.") for op in OPS), path


@for_each("path", OPS)
def test_op_copy_is_complete(path: str) -> None:
    op = OPS[path]
    policy = op.get("policy", {})

    assert op["description"].endswith(".")
    assert op["keywords"]
    assert op["contexts"]
    has_choices = op["parameters_schema"].get("required", []) != [*op["parameters_schema"]["properties"]]
    assert len(op["examples"]) >= (2 if has_choices else 1)
    assert policy.get("do")
    assert policy.get("dont") or op["kind"] == "read"
    assert op["action"]
    assert op["parameters_schema"]["additionalProperties"] is False
    assert all(len(sentence) <= 300 for texts in policy.values() for sentence in texts)


@for_each("path", OPS)
def test_default_named_in_the_copy_is_in_a_schema(path: str) -> None:
    matches = re.findall(r"(\w+) \(default\)|(\w+) the default\b", " ".join(iterate_texts(OPS[path])))
    known = {str(default) for op in OPS.values() for _, default in iterate_defaults(op["parameters_schema"])}

    assert {word for words in matches for word in words if word} <= known | {str(each).split(".")[-1] for each in known}


@for_each("path", CREATES)
def test_create_arguments_match_their_columns(path: str) -> None:
    kind = ROWS[OPS[path]["entity"]]
    named = OPS[path]["parameters_schema"]["properties"]
    arguments = named.get(kind.name, {}).get("properties", named)  # a project's arguments are in their own object

    for name, argument in arguments.items():
        if name not in kind.fields or name == "props":
            continue
        field: Any = kind.model._meta.get_field(name)
        column = field.clean(argument["default"], None) if "default" in argument else None
        assert column == (field.get_default() if "default" in argument else None), name
        options = [option for option in argument.get("enum", []) if option is not None]
        assert options == ([value for value, _ in field.flatchoices] if "enum" in argument else [])
        assert bool(field.choices) == ("enum" in argument), name
        if isinstance(field, TagsField):
            assert (argument["maxItems"], argument["items"]["maxLength"]) == (MAX_TAGS, MAX_TAG_LENGTH), name
        elif not field.choices and field.max_length and "format" not in argument:
            assert argument["maxLength"] == field.max_length, name


@for_each("path", UPDATES)
def test_update_says_what_becomes_of_old_texts_and_times(path: str) -> None:
    kind, arguments = ROWS[OPS[path]["entity"]], OPS[path]["parameters_schema"]["properties"]
    words = {name: argument["description"] for name, argument in arguments.items()}

    if "update_strategy" in arguments:
        assert all(name in words["update_strategy"] for name in kind.update_strategies)
    moments = [
        name
        for name in arguments
        if name in kind.fields and isinstance(kind.model._meta.get_field(name), DateTimeField)
    ]
    # A date alone does not move a row to another time of day. The last day of a series counts as a whole.
    assert [name for name in moments if "date keeps" not in words[name]] == [
        name for name in moments if name.endswith("_until")
    ]


@for_each("path", OPS)
def test_arguments_have_descriptions_and_valid_value_aliases(path: str) -> None:
    schema = OPS[path]["parameters_schema"]

    assert all(_iterate_descriptions(schema))
    for argument in schema["properties"].values():
        for meant in argument.get(dialect.VALUE_ALIASES, {}).values():
            wrapper = {"type": "object", "properties": {"v": argument}}
            assert validator.find_instance_problems(wrapper, {"v": meant}) == []


@for_each("path", OPS)
def test_kinds_that_do_not_exist_are_refused_with_what_to_do_instead(path: str) -> None:
    for part, pointer in iter_subschemas(OPS[path]["parameters_schema"]):
        if {"task", "goal", "milestone", "risk", "document"} <= {*part.get("enum", ())}:
            assert part.get(dialect.VALUE_REFUSALS, {}).keys() >= {"metric", "source", "event"}, pointer


def test_web_pages_are_read_with_what_earlier_tools_took(catalog: Catalog) -> None:
    op = catalog.ops["util.web.visit"]
    args = {"url": "https://example.com/", "force_refresh": True, "max_html_chars": 9, "persist": True}

    assert not op.validator.find_problems(normalise.normalise_args(op, args, UserContext()).args)


@for_each("path", OPS)
def test_aliases_stand_for_valid_args(path: str) -> None:
    schema = OPS[path]["parameters_schema"]

    for alias, args in schema.get(dialect.ALIAS_ARGS, {}).items():
        assert alias in OPS[path]["aliases"]
        assert validator.find_instance_problems({**schema, "required": []}, args) == []


def test_help_stays_within_its_token_budget(catalog: Catalog) -> None:
    short = {path: count_help_tokens(catalog, path=path) for path in OPS}
    full = {path: count_help_tokens(catalog, path=path, format="full") for path in OPS}

    assert statistics.median(short.values()) <= 180
    assert statistics.median(full.values()) <= 450, full
    assert count_help_tokens(catalog) <= 120
    assert max(count_help_tokens(catalog, path=path) for path in GROUPS) <= 300


@for_each("path", OPS)
def test_op_is_found_by_its_summary_and_first_keyword(catalog: Catalog, path: str) -> None:
    view = catalog.view_for(FULL_VISIBILITY)

    assert path in search.find_ops(catalog, view, OPS[path]["summary"], limit=2)
    request = f"{OPS[path]['keywords'][0]} {OPS[path].get('entity', '')}"  # "get rid of" what?
    assert path in search.find_ops(catalog, view, request, limit=8)


@pytest.mark.usefixtures("internet_for_examples")
@for_each("path, args", EXAMPLES, undone=True)
def test_example_runs_without_warnings_except_unchanged(
    api: Api, path: str, args: dict[str, Any], record_property: Callable[[str, object], None]
) -> None:
    record_property(EXAMPLE, path)  # counted at the end of the run
    if path == UNDO:
        for title in ("One", "Two", "Three"):
            assert api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "title": title})["ok"]
    envelope = api.exec(path, args)

    assert envelope["ok"] is True, envelope
    assert envelope["op"] == path
    assert envelope["result"]
    assert set(envelope["meta"]["warnings"]) <= {"unchanged"}
    event_log.flush()
    event = OperationEvent.objects.get(type="exec", op=path)
    assert (event.ok, event.status) == (True, 200)
    entity = OPS[path].get("entity", "")
    assert event.entity in (ROWS if entity == "entity" else {entity})  # of the row that the call is about
    assert (event.action, event.kind) == (OPS[path]["action"], OPS[path]["kind"])
    operation = envelope["meta"].get("operation", {})
    assert operation.get("entity", "") == event.entity
    assert operation.get("action", OPS[path]["action"]) == OPS[path]["action"]
    if OPS[path]["kind"] == "write":
        assert event.entity_id == operation.get("entity_id", "")  # a write of many rows names none


@for_each("path, args", EXAMPLES)
def test_example_shows_only_arguments_that_help_lists(path: str, args: dict[str, Any]) -> None:
    assert args.keys() <= OPS[path]["parameters_schema"].get("properties", {}).keys()


@for_each("path", OPS)
def test_usage_is_valid_when_its_placeholders_are_filled(catalog: Catalog, path: str) -> None:
    usage = orjson.loads(help_pages.answer_query(catalog, HelpQuery(path=path, format="full")).body)["usage"]
    example = OPS[path]["examples"][0]["args"]

    def fill_placeholders(value: Any, sample: Any) -> Any:
        if isinstance(value, dict):
            return {name: fill_placeholders(item, sample[name]) for name, item in value.items()}
        if isinstance(value, list):
            return [fill_placeholders(item, each) for item, each in zip(value, sample, strict=False)]
        return sample if isinstance(value, str) and value.startswith("<") else value

    args = fill_placeholders(usage["args"], example)
    assert usage["op"] == path
    assert validator.find_instance_problems(OPS[path]["parameters_schema"], args) == []


def test_search_shows_the_likeliest_arguments_of_an_op_and_counts_the_others(catalog: Catalog) -> None:
    answer = help_pages.answer_query(catalog, HelpQuery(query="set the priority and the due date of a task"))
    items = {item["path"]: item for item in orjson.loads(answer.body)["items"]}

    update, whole = items["onto.task.update"], catalog.ops["onto.task.update"]
    assert {*whole.required, "priority", "due_at"} <= update["args"].keys()
    assert len(update["args"]) == len(whole.required) + 6
    assert update["more_args"] == len(whole.arguments) - len(update["args"])
    few = [item for item in items.values() if len(catalog.ops[item["path"]].arguments) < 6 and "args" in item]
    assert all("more_args" not in item for item in few)
