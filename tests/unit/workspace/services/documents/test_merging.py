from typing import Any

from tests.support.loops import for_each
from workspace.entity_types import DOCUMENT, PROJECT, RISK, TASK
from workspace.models import Document, Project, Risk, Task
from workspace.services.documents import merging


def merge(old: str = "old", **sent: Any) -> merging.MergedFields:
    return merging.apply_update_strategy(Task(title="T", description=old), kind=TASK, sent=sent)


def get_error_codes(merged: merging.MergedFields) -> list[tuple[str, str]]:
    return [(error.path, error.code) for error in merged.errors]


@for_each(
    "strategy, old, new, stored",
    [
        (None, "old", "new", "new"),
        ("replace", "old", "new", "new"),
        ("append", "old", "new", "old\n\nnew"),
        ("prepend", "old", "new", "new\n\nold"),
        ("append", "old\n", "\n\nnew", "old\n\nnew"),  # always one blank line
        ("append", "old  \r\n\r\n", "  new\n", "old  \n\n  new\n"),  # blanks matter in markdown
        ("prepend", "old", "new\n", "new\n\nold"),
        ("append", "", "new", "new"),
        ("append", " \n", "new", "new"),
        ("prepend", "", "new\n", "new\n"),
    ],
)
def test_each_strategy_merges_texts(strategy: str | None, old: str, new: str, stored: str) -> None:
    merged = merge(old, description=new, **({"update_strategy": strategy} if strategy else {}))

    assert (merged.fields["description"], merged.errors) == (stored, [])
    assert merged.warnings == ()


@for_each("strategy", ["append", "prepend", "merge_llm"])
def test_adding_an_empty_or_no_text_is_refused_even_with_other_changes(strategy: str) -> None:
    for empty in ("", " \n", None):
        merged = merge(description=empty, update_strategy=strategy)
        assert get_error_codes(merged) == [("/description", "no_content")]
    merged = merge(title="New", update_strategy=strategy)
    assert get_error_codes(merged) == [("/update_strategy", "no_content")]
    assert merged.errors[0].message == (
        f"update_strategy {strategy} needs a text to add; send description or details, or leave out update_strategy."
    )


def test_replace_needs_no_text_and_null_clears() -> None:
    assert merge(title="New", update_strategy="replace").errors == []
    assert merge(description=None, update_strategy="replace").fields["description"] is None


def test_texts_without_a_strategy_are_replaced() -> None:
    merged = merge(description="new", details="d", title="t", update_strategy="append")
    risk = merging.apply_update_strategy(Risk(title="R", description="old"), kind=RISK, sent={"description": "new"})

    assert (merged.fields["details"], merged.fields["title"]) == ("d", "t")
    assert risk.fields == {"description": "new"}


def test_project_context_is_appended_by_default() -> None:
    def merge_into_project(**sent: Any) -> merging.MergedFields:
        row = Project(name="P", description="old", context="known")
        return merging.apply_update_strategy(row, kind=PROJECT, sent=sent)

    for sent, context in (
        ({"context": "more"}, "known\n\nmore"),
        ({"context": "all", "update_strategy": "replace"}, "all"),
        ({"context": None}, None),
    ):
        fields = merge_into_project(description="new", **sent).fields
        assert (fields["description"], fields["context"]) == ("new", context)
    assert get_error_codes(merge_into_project(context=" ")) == [("/context", "no_content")]
    # Of a document, an append adds to both texts.
    sent_texts = {"description": "1", "content": "2", "update_strategy": "append"}
    row = Document(title="T", description="a", content="b")
    fields = merging.apply_update_strategy(row, kind=DOCUMENT, sent=sent_texts).fields
    assert (fields["description"], fields["content"]) == ("a\n\n1", "b\n\n2")


def test_merged_text_beyond_its_limit_is_refused() -> None:
    assert merge("x" * 10_000, description="y" * 9_998, update_strategy="append").errors == []
    merged = merge("x" * 10_000, description="y" * 9_999, update_strategy="append")

    assert get_error_codes(merged) == [("/description", "too_long")]
    assert "20001 characters; the limit is 20000" in merged.errors[0].message


def test_merge_instructions_without_a_merge_cause_a_warning() -> None:
    assert merge(description="new", merge_instructions="Sort").warnings == (merging.UNUSED_INSTRUCTIONS_WARNING,)
    assert merge(description="new", merge_instructions="Sort", update_strategy="merge_llm").warnings == ()
