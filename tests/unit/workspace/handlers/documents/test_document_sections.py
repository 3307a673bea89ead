"""Ops on the outline and the sections of documents."""

from typing import Any

import pytest

from tests.support.loops import for_each
from tests.support.rows.factories import DocumentFactory
from tests.support.values.handler_calls import call_handler, get_field_error
from workspace.models import Document

CONTENT = """Before.

# Launch

Text.

## Words

One.

### Deep

Deep.

# Back

## Words

Two.
"""


@pytest.fixture
def document(db: None) -> Document:
    document: Document = DocumentFactory(title="Runbook", content=CONTENT)
    return document


def get_outline(document: Document, **args: Any) -> dict[str, Any]:
    return call_handler("get_document_outline", document_id=str(document.pk), **args).result


def get_section(document: Document, **args: Any) -> dict[str, Any]:
    return call_handler("read_document_section", document_id=str(document.pk), **args).result


def get_refusal(document: Document, **args: Any) -> Any:
    return get_field_error(lambda: get_section(document, **args))


def test_outline_lists_each_heading_and_its_section(document: Document) -> None:
    result = get_outline(document)

    assert result["document"] == {"id": str(document.pk), "title": "Runbook", "content_length": len(CONTENT)}
    assert [(each["level"], each["heading"], each["anchor"]) for each in result["headings"]] == [
        (1, "Launch", "launch"),
        (2, "Words", "words"),
        (3, "Deep", "deep"),
        (1, "Back", "back"),
        (2, "Words", "words-1"),
    ]
    assert result["headings"][1] == {
        "index": 1,
        "level": 2,
        "heading": "Words",
        "anchor": "words",
        "line": 7,
        "offset": CONTENT.index("## Words"),
        "length": len("## Words\n\nOne.\n\n### Deep\n\nDeep.\n\n"),
    }
    assert (result["total"], result["has_more"]) == (5, False)
    assert result["message"] == "5 of 5 headings. onto.document.section.get returns the text of a section."


def test_outline_is_limited_by_level_and_can_be_continued(document: Document) -> None:
    main = get_outline(document, max_level=1)
    first = get_outline(document, limit=2, max_level=2)
    rest = get_outline(document, limit=2, max_level=2, offset=first["next_offset"])

    assert [each["index"] for each in main["headings"]] == [0, 3]
    assert [each["index"] for each in first["headings"] + rest["headings"]] == [0, 1, 3, 4]
    assert (first["has_more"], first["total"], rest["has_more"], "next_offset" in rest) == (True, 4, False, False)
    assert "For more, send next_offset as offset." in first["message"]
    assert rest["message"] == "2 of 4 headings. onto.document.section.get returns the text of a section."


def test_document_without_headings_has_an_empty_outline_and_no_sections(document: Document) -> None:
    Document.objects.update(content="```\n# code\n```\n")

    result = get_outline(document)

    assert (result["headings"], result["total"]) == ([], 0)
    assert result["message"].startswith("The document has no headings")
    assert get_refusal(document, index=0).code == "no_headings"


@for_each(
    "named",
    [{"heading": "Launch"}, {"heading": "# launch "}, {"anchor": "launch"}, {"anchor": "#launch"}, {"index": 0}],
    undone=True,
)
def test_section_is_found_by_heading_anchor_or_index(document: Document, named: dict[str, Any]) -> None:
    result = get_section(document, **named)

    assert result["section"] == {
        "index": 0,
        "level": 1,
        "heading": "Launch",
        "anchor": "launch",
        "line": 3,
        "length": CONTENT.index("# Back") - CONTENT.index("# Launch"),
        "content": CONTENT[CONTENT.index("# Launch") : CONTENT.index("# Back")],
    }
    assert result["message"] == "Characters 0 to 50 of the section, the end."


@for_each("sent", ["# 1 priority", "C#", "\u00fcber", "a  b", "x" * 250], undone=True)
def test_section_is_found_by_heading_as_in_the_outline_or_the_text(document: Document, sent: str) -> None:
    Document.objects.update(content="# \\# 1 priority\n# C#\n# \u00dcber\n# a b\n# " + "x" * 250 + "\n")

    index = get_section(document, heading=sent)["section"]["index"]

    assert (
        get_section(document, heading=get_outline(document)["headings"][index]["heading"])["section"]["index"] == index
    )


def test_section_without_subsections_ends_at_the_first_one(document: Document) -> None:
    section = get_section(document, heading="Launch", include_subsections=False)["section"]

    assert (section["content"], section["length"]) == ("# Launch\n\nText.\n\n", len("# Launch\n\nText.\n\n"))


def test_long_section_is_cut_and_can_be_read_to_its_end(document: Document) -> None:
    Document.objects.update(content="# Long\n" + "ü" * 1_200 + "\n# Next\n")

    parts, offset = [], 0
    while offset is not None:
        result = get_section(document, index=0, max_chars=500, offset=offset)
        parts.append(result["section"]["content"])
        offset = result["section"].get("truncated", {}).get("content", {}).get("next_offset")

    assert [len(part) for part in parts] == [500, 500, 208]
    assert "".join(parts) == "# Long\n" + "ü" * 1_200 + "\n"
    assert get_refusal(document, index=0, offset=1_209).code == "beyond_the_end"


def test_ambiguous_heading_is_refused_with_up_to_ten_anchors(document: Document) -> None:
    error = get_refusal(document, heading="words")

    assert (error.path, error.code) == ("/heading", "ambiguous_heading")
    assert error.message == (
        "2 sections have this heading; send one of these anchors instead: words (line 7), words-1 (line 17)."
    )
    assert [each["index"] for each in error.expected] == [1, 4]
    assert get_section(document, anchor="words-1")["section"]["content"] == "## Words\n\nTwo.\n"
    Document.objects.update(content="# Same\n" * 15)
    error = get_refusal(document, heading="Same")
    assert len(error.expected) == 10
    assert error.message.endswith("same-9 (line 10) and 5 more.")


@for_each(
    "named, code, message",
    [
        ({"heading": "Lunch"}, "no_such_section", "Similar anchors: launch."),
        ({"heading": "Nothing like it"}, "no_such_section", "The first anchors: launch, words, deep, back, words-1."),
        ({"anchor": "words-9"}, "no_such_section", "words"),
        ({"index": 5}, "no_such_section", "send 0 to 4."),
        ({}, "one_of", "Send exactly one of heading, anchor and index"),
        ({"index": 0, "heading": "Launch"}, "one_of", "Send exactly one of heading, anchor and index"),
    ],
    undone=True,
)
def test_unknown_section_is_refused_with_a_hint(
    document: Document, named: dict[str, Any], code: str, message: str
) -> None:
    error = get_refusal(document, **named)

    assert error.code == code
    assert message in error.message
