from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registry.catalog import builder
from registry.catalog.model import Catalog
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.releases import preview
from registry.releases.preview import DraftState
from registry.snapshot import snapshot
from registry.snapshot.diff import Kind
from tests.support.rows import op_entries
from tests.support.rows.check_findings import build_check_context
from tests.support.rows.copy_rows import make_op
from tests.support.rows.op_entries import build_op_entry, build_schema
from tests.support.values.schema_samples import SCHEMAS

TITLE = {"type": "string", "description": "What it is called"}
ENTRY = build_op_entry(
    "a.add",
    kind="write",
    description="Adds one.",
    parameters_schema=build_schema(("title",), title=TITLE, limit={"type": "integer", "maximum": 9, "default": 5}),
    policy={"do": ["Give a title."]},
    examples=[{"title": "Least", "args": {"title": "Book venue"}}],
)


def preview_op(entry: dict[str, Any], live: Catalog | None = None, **more: Any) -> preview.OpPreview:
    return preview.preview_op(entry, context=build_check_context(build_op_entry("a.list"), entry), live=live, **more)


def test_preview_of_shipped_ops_equals_served_help(live_catalog: Catalog) -> None:
    draft = snapshot.snapshot_draft()
    others = build_check_context(*draft["ops"])

    for entry in draft["ops"]:
        op_preview = preview.preview_op(entry, context=others, live=live_catalog)
        for form, answer in op_preview.answers.items():
            query: dict[str, Any] = {"arg": op_preview.argument} if form == "arg" else {"format": form}
            live_op = live_catalog.ops[entry["op"]]  # without the agents, which depend on the caller
            assert answer.body == help_pages.answer_about_op(live_op, HelpQuery(path=entry["op"], **query)).body
            assert answer.added_tokens == 0
        assert [op_preview.answers[form].tokens for form in ("short", "full")] == live_catalog.tokens[entry["op"]]
        assert (op_preview.draft_state, op_preview.passages, op_preview.is_complete) == (DraftState.LIVE, (), True)


def test_preview_compares_tokens_with_the_live_release() -> None:
    before = ENTRY | {"description": "Adds one.", "parameters_schema": build_schema(("title",), title=TITLE)}

    op_preview = preview_op(ENTRY | {"description": "Adds one more."}, op_entries.build_catalog(before))

    assert op_preview.draft_state == DraftState.CHANGED
    added = {form: answer.added_tokens for form, answer in op_preview.answers.items()}
    assert added == {"short": 11, "full": 21, "arg": None}
    assert [passage.label for passage in op_preview.passages] == ["description", "argument limit"]


@pytest.mark.parametrize(
    "change",
    [
        {"keywords": ["put"]},  # never shown, but used by search
        {"timeout_ms": 5_000},
        {"parameters_schema": build_schema(("title",), title=TITLE | {"default": True})},
    ],
)
def test_fields_that_models_do_not_read_count_as_changes(change: dict[str, Any]) -> None:
    base = ENTRY | {"parameters_schema": build_schema(("title",), title=TITLE | {"default": 1})}

    assert preview_op(base, op_entries.build_catalog(base)).draft_state == DraftState.LIVE
    assert preview_op(base | change, op_entries.build_catalog(base)).draft_state == DraftState.CHANGED


def test_renamed_op_is_compared_with_its_old_path() -> None:
    moved = ENTRY | {"op": "a.put"}

    op_preview = preview.preview_op(
        moved,
        context=build_check_context(build_op_entry("a.list"), ENTRY),
        live=op_entries.build_catalog(ENTRY),
        was="a.add",
    )

    assert op_preview.draft_state == DraftState.CHANGED
    assert op_preview.answers["short"].added_tokens == 0
    assert [finding.rule for finding in op_preview.findings] == ["op_unknown"]  # its summary names the old path


@pytest.mark.parametrize(("before", "now"), [("active", "retired"), ("retired", "active")])
def test_retired_side_of_a_comparison_is_empty(before: str, now: str) -> None:
    retired = ENTRY | {"status": "retired"}
    assert preview_op(retired, op_entries.build_catalog(retired)).draft_state == DraftState.LIVE

    op_preview = preview_op(ENTRY | {"status": now}, op_entries.build_catalog(ENTRY | {"status": before}))

    assert op_preview.draft_state == DraftState.CHANGED
    assert op_preview.answers["short"].live_tokens == (
        None if before == "retired" else op_preview.answers["short"].tokens
    )
    assert {words.side for passage in op_preview.passages for words in passage.words} == {
        "after" if before == "retired" else "before"
    }


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"parameters_schema": {"type": "array"}}, "schema_invalid"),
        ({"parameters_schema": {"type": "object", "$ref": "http://elsewhere.example/"}}, "schema_invalid"),
        ({"examples": [{"args": ["title"]}, {"args": {"title": "A"}}]}, "example_invalid"),
        ({"examples": [{"args": 7}]}, "example_invalid"),
    ],
)
def test_preview_omits_and_reports_unreadable_parts(change: dict[str, Any], rule: str) -> None:
    op_preview = preview_op(ENTRY | change)

    assert not op_preview.is_complete
    assert rule in [finding.rule for finding in op_preview.findings]
    assert orjson.loads(op_preview.answers["full"].body)["description"] == "Adds one."


def test_preview_reports_only_unstorable_values() -> None:
    op_preview = preview_op(ENTRY | {"notes": "half \ud800"})

    assert op_preview.answers == {}
    assert [finding.rule for finding in op_preview.findings] == ["unsendable"]


def test_removed_argument_is_replaced_by_another() -> None:
    op_preview = preview_op(ENTRY, argument="gone")
    assert (op_preview.argument, op_preview.arguments) == ("limit", ("limit", "title"))
    assert op_preview.draft_state == DraftState.NEW
    assert preview_op(ENTRY | {"parameters_schema": build_schema()}, argument="gone").answers.keys() == {
        "short",
        "full",
    }


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
@example({"parameters_schema": {"type": "object", "minProperties": 2**53}, "needs_subject": False}, "")
def test_preview_accepts_any_input(entry: dict[str, Any], argument: str) -> None:
    op_preview = preview.preview_op(
        entry,
        context=build_check_context(build_op_entry("a.list")),
        live=op_entries.build_catalog(ENTRY),
        argument=argument,
    )

    assert op_preview.answers or "unsendable" in {finding.rule for finding in op_preview.findings}
    assert op_preview.is_complete or any(finding.is_blocking for finding in op_preview.findings)


GROUP = {"path": "a", "summary": "Things"}
SECTION = {"prompt": "guide", "name": "ids", "position": 1, "title": "Ids", "text": "Whole.", "status": "active"}


def build_live_catalog(**more: Any) -> Catalog:
    return builder.build_catalog("v" * 64, {"groups": [GROUP], "ops": [], "sections": [SECTION]} | more)


@pytest.mark.parametrize(
    ("kind", "entry", "was", "body"),
    [
        (Kind.GROUP, GROUP, "a", b'{"path":"a","summary":"Things"}'),
        (Kind.SECTION, SECTION, "guide/ids", b'{"name":"ids","title":"Ids","text":"Whole."}'),
    ],
)
def test_preview_shows_texts_as_served(kind: Kind, entry: dict[str, Any], was: str, body: bytes) -> None:
    live = build_live_catalog()
    change = {"summary": "All things"} if kind == Kind.GROUP else {"text": "Whole, and never cut."}

    as_is = preview.preview_text(kind, entry, live=live, was=was)
    changed = preview.preview_text(kind, entry | change, live=live, was=was)

    assert (as_is.answer.body, as_is.answer.added_tokens, as_is.draft_state) == (body, 0, DraftState.LIVE)
    assert changed.answer.added_tokens == changed.answer.tokens - as_is.answer.tokens > 0
    assert changed.draft_state == DraftState.CHANGED
    assert preview.preview_text(kind, entry, live=None).draft_state == DraftState.NEW
    assert (
        preview.preview_text(kind, entry, live=build_live_catalog(groups=[], sections=[])).draft_state == DraftState.NEW
    )


def test_renamed_text_is_compared_with_its_old_name_and_a_retired_one_is_not_live() -> None:
    text_preview = preview.preview_text(
        Kind.SECTION, SECTION | {"name": "keys"}, live=build_live_catalog(), was="guide/ids"
    )

    assert text_preview.draft_state == DraftState.CHANGED
    assert text_preview.answer.live_tokens is not None
    retired = preview.preview_text(Kind.SECTION, SECTION | {"status": "retired"}, live=build_live_catalog())
    assert retired.draft_state == DraftState.CHANGED


def test_preview_reports_errors_in_a_text() -> None:
    long = preview.preview_text(Kind.GROUP, GROUP | {"summary": "word " * 20}, live=None)
    hidden = preview.preview_text(Kind.SECTION, SECTION | {"text": "Send\u200b ids"}, live=None)

    assert [finding.rule for finding in long.findings] == ["summary_too_long"]
    assert [(finding.rule, finding.field) for finding in hidden.findings] == [("hidden_characters", "text")]


PIN = {"surface": "hybrid", "context": "*", "model_family": "*", "ops": ["onto.task.add"], "max_tokens": 500}


@pytest.mark.django_db
def test_preview_has_tools_with_their_tokens_and_compares_with_live() -> None:
    op = make_op("onto.task.add", description="Before it, call onto.task.find.")  # shown by its tool name
    ops = [
        snapshot.op_to_entry(each)
        for each in (op, make_op("onto.task.find", tool_name="find_tasks_by_their_words_and_dates"))
    ]
    live = build_live_catalog(groups=[], ops=ops, pins=[PIN])

    same = preview.preview_pin(PIN, live=live)
    other = preview.preview_pin(PIN | {"max_tokens": 600}, live=live)
    new = preview.preview_pin(PIN, live=None)

    assert op.tool_name.encode() in same.answer.body
    assert same.answer.tokens == same.answer.live_tokens
    assert [each.draft_state for each in (same, other, new)] == [DraftState.LIVE, DraftState.CHANGED, DraftState.NEW]
    assert same.findings == []


@pytest.mark.django_db
def test_preview_finds_unknown_ops_and_too_many_tokens() -> None:
    make_op("onto.task.add")

    found = preview.preview_pin(PIN | {"ops": ["onto.task.add", "onto.nothing"], "max_tokens": 50}, live=None)

    assert {finding.rule for finding in found.findings} >= {"ops_unknown"}
