"""Dotted aliases: values inside a wrapper object are lifted, and the first spelling that is not blank wins."""

import copy
from typing import Any

import pytest
from django.apps import apps
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.access.request_context import UserContext
from gateway.arguments import normalise
from registry import checks
from registry.catalog import builder
from registry.catalog.model import CatalogOp
from registry.files import loader
from tests.support.cpu_budget import examples

if not apps.is_installed("workspace"):
    pytest.skip("by design: normalises args of the workspace's ops", allow_module_level=True)


PROJECT_ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"
DOCUMENT_ID = "c4a1d2e3-90ab-4cde-8f01-3b5d7e9f1a01"
CONTENT = loader.read_shipped_catalog()
SHIPPED = builder.build_catalog("unit", CONTENT)
CREATE, UPDATE, GET = (SHIPPED.ops[f"onto.document.{action}"] for action in ("create", "update", "get"))
DEFAULTS = {"type_key": "document.default", "state_key": "draft"}


def normalise_op_args(op: CatalogOp, **sent: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the args without applied defaults, and the warnings."""
    normalised = normalise.normalise_args(op, sent, UserContext())
    return normalised.without_defaults, normalised.warnings


@pytest.mark.parametrize(
    ("sent", "args", "warnings"),
    [
        # correct calls
        ({"title": "A", "content": "x"}, {"title": "A", "content": "x"}, []),
        # each spelling alone
        *(
            ({name: "x"}, {"content": "x"}, [f"Read {name} as content."])
            for name in ("body_markdown", "body", "text", "markdown")
        ),
        *(({name: "A"}, {"title": "A"}, [f"Read {name} as title."]) for name in ("name", "document_title")),
        *(
            ({name: "d"}, {"description": "d"}, [f"Read {name} as description."])
            for name in ("summary", "doc_description", "document_description")
        ),
        # camelCase, of the name and of its aliases
        ({"typeKey": "document.x"}, {"type_key": "document.x"}, ["Read typeKey as type_key."]),
        ({"bodyMarkdown": "x"}, {"content": "x"}, ["Read bodyMarkdown as content."]),
        # nested
        (
            {"document": {"title": "A", "content": "x", "props": {"a": 1}}},
            {"title": "A", "content": "x", "props": {"a": 1}},
            ["Read document.content as content.", "Read document.props as props.", "Read document.title as title."],
        ),
        ({"document": {"bodyMarkdown": "x"}}, {"content": "x"}, ["Read document.bodyMarkdown as content."]),
        ({"document": {"project_id": f" {PROJECT_ID} "}}, {"project_id": PROJECT_ID}, None),
        # outer before nested
        (
            {"body": "outer", "document": {"content": "nested"}},
            {"content": "outer"},
            ["Read body as content.", "Ignored document.content: body was also sent."],
        ),
        # then the canonical name, then alphabetical order, independent of the sent order
        (
            {"text": "t", "markdown": "m", "body": "b"},
            {"content": "b"},
            ["Read body as content.", "Ignored markdown: body was also sent.", "Ignored text: body was also sent."],
        ),
        ({"document": {"text": "t", "body": "b", "content": "c"}}, {"content": "c"}, None),
        # the first that is not blank
        ({"content": " ", "body": "", "text": "t"}, {"content": "t"}, ["Read text as content."]),
        ({"content": None, "document": {"markdown": "m"}}, {"content": "m"}, ["Read document.markdown as content."]),
        # only blanks: optional arguments are dropped, required ones are left for the handler
        ({"document": {"title": "", "content": "\n"}}, {}, None),
        # unknown names are lifted unchanged, so that validation names them
        ({"document": {"other": ["a"]}}, {"other": ["a"]}, []),
        (
            {"other": 1, "document": {"other": 2, "title": "A"}},
            {"other": 1, "document": {"other": 2}, "title": "A"},
            None,
        ),
        # not an object: nothing to lift
        *(({"document": value}, {"document": value}, []) for value in ("text", ["a"], 5, None)),
        ({"document": {"document": {"title": "A"}}}, {"document": {"document": {"title": "A"}}}, []),
        # both spellings of one name: the exact one wins unless it is blank
        (
            {"typeKey": "document.b", "type_key": "document.a"},
            {"type_key": "document.a"},
            ["Ignored typeKey: type_key was also sent."],
        ),
        ({"body_markdown": None, "bodyMarkdown": "x"}, {"content": "x"}, ["Read bodyMarkdown as content."]),
        # props is not changed
        (
            {"props": {"body": "x", "document": {"title": "A"}}},
            {"props": {"body": "x", "document": {"title": "A"}}},
            [],
        ),
    ],
)
def test_normalise_lifts_the_payload_of_a_new_document(
    sent: dict[str, Any], args: dict[str, Any], warnings: list[str] | None
) -> None:
    normalised, actual_warnings = normalise_op_args(CREATE, **sent)

    assert normalised == args
    if warnings is not None:
        assert sorted(actual_warnings) == sorted(warnings)


@pytest.mark.parametrize(
    "sent",
    [{"id": DOCUMENT_ID}, {"docId": DOCUMENT_ID}, {"doc_id": DOCUMENT_ID}, {"documentId": f" {DOCUMENT_ID}"}]
    + [{"document": {name: DOCUMENT_ID}} for name in ("id", "document_id", "documentId")],
)
def test_document_id_is_found_in_every_spelling(sent: dict[str, Any]) -> None:
    assert normalise_op_args(GET, **sent)[0] == {"document_id": DOCUMENT_ID}


def test_null_still_clears_a_nullable_field() -> None:
    cleared = {"document_id": DOCUMENT_ID, "description": None}

    assert normalise_op_args(UPDATE, **cleared)[0] == cleared
    assert normalise_op_args(UPDATE, document_id=DOCUMENT_ID, summary=None)[0] == cleared


def test_op_without_dotted_aliases_keeps_both_spellings() -> None:
    task = SHIPPED.ops["onto.task.create"]

    # Validation then refuses name as unknown.
    assert normalise_op_args(task, title="A", name="B")[0] == {"title": "A", "name": "B"}
    assert normalise_op_args(task, task={"title": "A"})[0] == {"task": {"title": "A"}}


def test_nested_values_win_over_defaults() -> None:
    normalised = normalise.normalise_args(
        CREATE, {"document": {"title": "A", "state_key": "ready"}}, UserContext(project_id=PROJECT_ID)
    )

    assert normalised.args == DEFAULTS | {"title": "A", "state_key": "ready", "project_id": PROJECT_ID}
    assert normalised.applied_defaults == {"project_id": PROJECT_ID}


NAMES = st.sampled_from(
    [*CREATE.arguments, *CREATE.argument_aliases, "bodyMarkdown", "typeKey", "document", "other", ""]
)
VALUES = st.recursive(
    st.none() | st.text(max_size=3) | st.integers(-(2**53) + 1, 2**53 - 1),  # the integers that strict parsing accepts
    lambda inner: st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=8,
)


@given(sent=st.dictionaries(NAMES, VALUES, max_size=6))
@settings(max_examples=examples(300), deadline=None)
def test_value_under_its_own_name_always_wins(sent: dict[str, Any]) -> None:
    before = copy.deepcopy(sent)

    normalised = normalise.normalise_args(CREATE, sent, UserContext())

    assert sent == before
    for name in ("title", "description", "content", "props"):
        if sent.get(name) is not None and str(sent[name]).strip():
            assert normalised.args[name] == sent[name]


@pytest.mark.parametrize(
    ("alias", "target", "refused"),
    [
        ("document.title", "title", False),
        ("title.text", "title", True),  # title is an argument, not a wrapper object
        ("document.meta.title", "title", True),  # more than one level
        ("document.", "title", True),
        ("", "title", True),
    ],
)
def test_dotted_alias_is_checked_before_publishing(alias: str, target: str, refused: bool) -> None:
    content = copy.deepcopy(CONTENT)
    op = next(op for op in content["ops"] if op["op"] == "onto.document.create")
    op["argument_aliases"] = {alias: target}

    problems = checks.find_errors(content)

    assert [problem.field for problem in problems] == ["argument_aliases"] * len(problems)
    assert bool(problems) is refused


def test_order_of_aliases_in_a_release_does_not_matter() -> None:
    sent = {"text": "t", "body": "b", "document": {"content": "c", "name": "A"}, "summary": "s", "doc_description": "d"}
    aliases = list(CREATE.argument_aliases.items())

    results = [
        normalise_op_args(CatalogOp(**{**_get_fields(CREATE), "argument_aliases": dict(order)}), **copy.deepcopy(sent))
        for order in (aliases, aliases[::-1], sorted(aliases))
    ]

    assert results[0] == results[1] == results[2]
    assert results[0][0] == {"content": "b", "title": "A", "description": "d"}


def test_value_is_used_once_when_several_aliases_match() -> None:
    aliases = {"docTitle": "description", "doc_title": "title", "document.title": "title"}

    normalised, _ = normalise_op_args(CatalogOp(**{**_get_fields(CREATE), "argument_aliases": aliases}), docTitle="x")

    assert normalised == {"title": "x"}


def _get_fields(op: CatalogOp) -> dict[str, Any]:
    names = ("op", "tool_name", "kind", "summary", "schema", "action", "entity")
    return {name: getattr(op, name) for name in names}
