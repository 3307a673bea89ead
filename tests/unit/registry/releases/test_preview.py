from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import canonical_json
from registry.catalog import model
from registry.catalog.model import Catalog
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.releases import preview
from registry.releases.preview import DraftState
from registry.snapshot import snapshot
from registry.snapshot.diff import Kind
from tests.support import op_entries
from tests.support.check_findings import context
from tests.support.op_entries import op, schema
from tests.support.schema_samples import SCHEMAS

TITLE = {"type": "string", "description": "What it is called"}
ENTRY = op(
    "a.add",
    kind="write",
    description="Adds one.",
    parameters_schema=schema(("title",), title=TITLE, limit={"type": "integer", "maximum": 9, "default": 5}),
    policy={"do": ["Give a title."]},
    examples=[{"title": "Least", "args": {"title": "Book venue"}}],
)


def of(entry: dict[str, Any], live: Catalog | None = None, **more: Any) -> preview.OpPreview:
    return preview.preview_op(entry, context=context(op("a.list"), entry), live=live, **more)


def served(entry: dict[str, Any], **query: Any) -> bytes:
    """What help answers once this is live."""
    text = canonical_json.dumps(op_entries.content(entry))
    return help_pages.answer_query(
        model.build_catalog("", orjson.loads(text)), HelpQuery(path=entry["op"], **query)
    ).body


def test_every_form_is_what_help_will_answer() -> None:
    found = of(ENTRY, argument="limit")

    assert {form: answer.body for form, answer in found.answers.items()} == {
        "short": served(ENTRY),
        "full": served(ENTRY, format="full"),
        "arg": served(ENTRY, arg="limit"),
    }
    assert found.arguments == ("limit", "title")
    assert found.is_complete
    assert found.standing == DraftState.NEW
    assert [answer.live_tokens for answer in found.answers.values()] == [None] * 3
    assert [answer.added_tokens for answer in found.answers.values()] == [None] * 3


def test_shipped_ops_read_as_they_are_served(live_catalog: Catalog) -> None:
    draft = snapshot.snapshot_draft()
    others = context(*draft["ops"])

    for entry in draft["ops"]:
        found = preview.preview_op(entry, context=others, live=live_catalog)
        for form, answer in found.answers.items():
            asked: dict[str, Any] = {"arg": found.argument} if form == "arg" else {"format": form}
            assert answer.body == help_pages.answer_query(live_catalog, HelpQuery(path=entry["op"], **asked)).body
            assert answer.added_tokens == 0
        assert [found.answers[form].tokens for form in ("short", "full")] == live_catalog.tokens[entry["op"]]
        assert (found.standing, found.passages, found.is_complete) == (DraftState.LIVE, (), True)


def test_tokens_are_told_against_what_is_live() -> None:
    before = ENTRY | {"description": "Adds one.", "parameters_schema": schema(("title",), title=TITLE)}

    found = of(ENTRY | {"description": "Adds one more."}, op_entries.catalog(before))

    assert found.standing == DraftState.CHANGED
    assert {form: answer.added_tokens for form, answer in found.answers.items()} == {
        "short": 11,
        "full": 21,
        "arg": None,
    }
    assert [passage.label for passage in found.passages] == ["description", "argument limit"]


@pytest.mark.parametrize(
    "change",
    [
        {"keywords": ["put"]},  # never shown, but found by it
        {"timeout_ms": 5_000},
        {"parameters_schema": schema(("title",), title=TITLE | {"default": True})},
    ],
)
def test_what_no_model_reads_changes_an_op_as_well(change: dict[str, Any]) -> None:
    base = ENTRY | {"parameters_schema": schema(("title",), title=TITLE | {"default": 1})}

    assert of(base, op_entries.catalog(base)).standing == DraftState.LIVE
    assert of(base | change, op_entries.catalog(base)).standing == DraftState.CHANGED


def test_an_op_that_gets_another_path_is_compared_with_what_it_was() -> None:
    moved = ENTRY | {"op": "a.put"}

    found = preview.preview_op(moved, context=context(op("a.list"), ENTRY), live=op_entries.catalog(ENTRY), was="a.add")

    assert found.standing == DraftState.CHANGED
    assert found.answers["short"].added_tokens == 0
    assert [finding.rule for finding in found.findings] == ["op_unknown"]  # its summary names what it was


@pytest.mark.parametrize(("before", "now"), [("active", "retired"), ("retired", "active")])
def test_nobody_reads_what_is_retired(before: str, now: str) -> None:
    found = of(ENTRY | {"status": now}, op_entries.catalog(ENTRY | {"status": before}))

    assert found.standing == DraftState.CHANGED
    assert found.answers["short"].live_tokens == (None if before == "retired" else found.answers["short"].tokens)
    assert {words.side for passage in found.passages for words in passage.words} == {
        "after" if before == "retired" else "before"
    }


def test_a_retired_op_is_live_as_it_stands() -> None:
    retired = ENTRY | {"status": "retired"}

    assert of(retired, op_entries.catalog(retired)).standing == DraftState.LIVE


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"parameters_schema": {"type": "array"}}, "schema_invalid"),
        ({"parameters_schema": {"type": "object", "$ref": "http://elsewhere.example/"}}, "schema_invalid"),
        ({"examples": [{"args": ["title"]}, {"args": {"title": "A"}}]}, "example_invalid"),
        ({"examples": [{"args": 7}]}, "example_invalid"),
    ],
)
def test_what_cannot_be_shown_is_left_out_and_told(change: dict[str, Any], rule: str) -> None:
    found = of(ENTRY | change)

    assert not found.is_complete
    assert rule in [finding.rule for finding in found.findings]
    assert orjson.loads(found.answers["full"].body)["description"] == "Adds one."


def test_what_no_release_could_hold_is_told_alone() -> None:
    found = of(ENTRY | {"notes": "half \ud800"})

    assert found.answers == {}
    assert [finding.rule for finding in found.findings] == ["unsendable"]


def test_an_argument_that_has_gone_gives_way_to_another() -> None:
    assert of(ENTRY, argument="gone").argument == "limit"
    assert of(ENTRY | {"parameters_schema": schema()}, argument="gone").answers.keys() == {"short", "full"}


def test_an_empty_form_is_shown_as_well() -> None:
    blank = {"parameters_schema": schema(), "needs_subject": True}

    found = preview.preview_op(blank, context=context(op("a.list")), live=op_entries.catalog(ENTRY))

    assert orjson.loads(found.answers["short"].body) == {"type": "op", "args": {}}


TEXTS = st.text(max_size=30)
TYPED = st.fixed_dictionaries(
    {"parameters_schema": SCHEMAS | st.just([]) | st.none(), "needs_subject": st.booleans()},
    optional={
        **dict.fromkeys(("op", "tool_name", "kind", "summary", "description", "notes", "successor"), TEXTS),
        "policy": st.dictionaries(
            st.sampled_from(["do", "dont", "edge_cases"]), st.lists(TEXTS, min_size=1, max_size=2)
        ),
        "examples": st.lists(st.fixed_dictionaries({"args": st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2)})),
        "argument_aliases": st.dictionaries(TEXTS, TEXTS, max_size=2),
        "display_only": st.lists(TEXTS, max_size=2),
        "aliases": st.lists(TEXTS, max_size=2),
        "without_id": TEXTS,
    },
)


@given(TYPED, TEXTS)
def test_nothing_that_is_typed_fails(entry: dict[str, Any], argument: str) -> None:
    found = preview.preview_op(entry, context=context(op("a.list")), live=op_entries.catalog(ENTRY), argument=argument)

    assert found.answers
    assert found.is_complete or any(finding.is_blocking for finding in found.findings)


GROUP = {"path": "a", "summary": "Things"}
SECTION = {"prompt": "guide", "name": "ids", "position": 1, "title": "Ids", "text": "Whole.", "status": "active"}


def live_with(**more: Any) -> Catalog:
    return model.build_catalog("v" * 64, {"groups": [GROUP], "ops": [], "sections": [SECTION]} | more)


@pytest.mark.parametrize(
    ("kind", "entry", "was", "body"),
    [
        (Kind.GROUP, GROUP, "a", b'{"path":"a","summary":"Things"}'),
        (Kind.SECTION, SECTION, "guide/ids", b'{"name":"ids","title":"Ids","text":"Whole."}'),
    ],
)
def test_texts_are_shown_as_they_are_answered(kind: Kind, entry: dict[str, Any], was: str, body: bytes) -> None:
    live = live_with()
    said = {"summary": "All things"} if kind == Kind.GROUP else {"text": "Whole, and never cut."}

    as_is = preview.preview_text(kind, entry, live=live, was=was)
    changed = preview.preview_text(kind, entry | said, live=live, was=was)

    assert (as_is.answer.body, as_is.answer.added_tokens, as_is.standing) == (body, 0, DraftState.LIVE)
    assert changed.answer.added_tokens == changed.answer.tokens - as_is.answer.tokens > 0
    assert changed.standing == DraftState.CHANGED
    assert preview.preview_text(kind, entry, live=None).standing == DraftState.NEW
    assert preview.preview_text(kind, entry, live=live_with(groups=[], sections=[])).standing == DraftState.NEW


def test_a_text_that_gets_another_name_is_compared_with_what_it_was() -> None:
    found = preview.preview_text(Kind.SECTION, SECTION | {"name": "keys"}, live=live_with(), was="guide/ids")

    assert found.standing == DraftState.CHANGED
    assert found.answer.live_tokens is not None


def test_what_is_wrong_with_a_text_is_told() -> None:
    long = preview.preview_text(Kind.GROUP, GROUP | {"summary": "word " * 20}, live=None)
    hidden = preview.preview_text(Kind.SECTION, SECTION | {"text": "Send\u200b ids"}, live=None)

    assert [finding.rule for finding in long.findings] == ["summary_too_long"]
    assert [(finding.rule, finding.field) for finding in hidden.findings] == [("hidden_characters", "text")]


def test_a_retired_section_is_not_live() -> None:
    assert (
        preview.preview_text(Kind.SECTION, SECTION | {"status": "retired"}, live=live_with()).standing
        == DraftState.CHANGED
    )
