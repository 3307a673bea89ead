"""Fields: every text of an op is indexed, each word with its op and field."""

from registry.search import postings
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema

ENTRY = build_op_entry(
    "onto.task.add",
    tool_name="addTask",
    summary="Summary\nof two lines",
    description="Described",
    notes="Noted",
    keywords=["todo", "to do"],
    aliases=["alias_one"],
    entity="entity",
    action="action",
    parameters_schema=build_schema(
        due_at={"type": "string", "description": "Deadline text", "enum": ["Soonest", 3]},
        odd=True,
    ),
    argument_aliases={"deadline": "due_at"},
    policy={"do": ["Done"], "dont": ["Undone"]},
    examples=[{"title": "Titled", "args": {}, "note": "Exemplary"}],
)


def words_by_field(ops: list[dict], former: list[list[str]]) -> list[dict[str, list[str]]]:
    read = postings.read_op_words(list(build_catalog(*ops).ops.values()), former)
    words_by_op: list[dict[str, list[str]]] = [{} for _ in ops]
    for word, at, field in zip(read.word_ids, read.op_ids, read.field_ids, strict=True):
        words_by_op[at].setdefault(postings.FIELDS[field], []).append(read.vocabulary[word])
    return words_by_op


def test_every_text_is_indexed_in_its_field() -> None:
    assert words_by_field([ENTRY], [["old_name"]]) == [
        {
            "name": ["add", "task"],
            "aliases": ["alias", "one", "old", "name"],
            "keywords": ["todo", "to", "do", "entity", "action"],
            "text": ["summary", "of", "two", "lines", "described"],
            "arguments": ["due", "at", "odd", "deadline"],
            "argument_texts": ["deadline", "text", "soonest"],
            "prose": ["task", "add", "noted", "done", "undone", "titled", "exemplary"],
        }
    ]


def test_words_belong_to_their_op() -> None:
    first, second = words_by_field(
        [build_op_entry("a.one", summary="First\n\none"), build_op_entry("b.two", summary="Second")], [[], []]
    )

    assert (first["text"], second["text"]) == (["first", "one"], ["second"])


def test_summary_that_begins_the_description_counts_once() -> None:
    (read,) = words_by_field([build_op_entry("a.one", summary="First", description="First of all.")], [[]])

    assert read["text"] == ["first", "of", "all"]
