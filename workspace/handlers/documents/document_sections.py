"""Reading long documents by section: the outline and the text of one section."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from core.handler_contract import ArgumentError, InvalidArgs, OpOutcome, OpRequest, build_invalid_args
from core.text import english
from workspace.entity_types import DOCUMENT
from workspace.handlers.generic import generic_reads
from workspace.models import Document
from workspace.services import access
from workspace.services.documents import outline
from workspace.services.documents.outline import MAX_HEADING_LENGTH, MarkdownSection, parse_sections
from workspace.services.search.search import fold_case

MAX_HEADINGS = 200
MAX_CANDIDATES = 10  # sections that an error lists
MAX_COMPARED_HEADINGS = 500  # headings that an unknown one is compared with

SECTION_ARGUMENTS = ("heading", "anchor", "index")  # the arguments that identify a section; a call sends exactly one


def get_outline(request: OpRequest) -> OpOutcome:
    """Return the headings of a document. Raises NotFound."""
    document = _get_document(request)
    all_sections = parse_sections(document.content)
    max_level, offset = request.args.get("max_level", 6), request.args.get("offset", 0)
    headings = [each for each in all_sections if each.level <= max_level]
    page = headings[offset : offset + min(request.args.get("limit", MAX_HEADINGS), MAX_HEADINGS)]
    next_offset = offset + len(page)
    result: dict[str, Any] = {
        "document": _summarize_document(document),
        "headings": [
            _describe_section(each) | {"offset": each.start, "length": each.end - each.start} for each in page
        ],
        "total": len(headings),
        "has_more": next_offset < len(headings),
        "message": _build_headings_message(len(page), len(headings), has_more=next_offset < len(headings)),
    }
    return _build_outcome(document, result | ({"next_offset": next_offset} if next_offset < len(headings) else {}))


def get_section(request: OpRequest) -> OpOutcome:
    """Return the text of one section, up to max_chars. Raises NotFound, InvalidArgs."""
    document = _get_document(request)
    target = _find_section(parse_sections(document.content), request.args)
    end = target.end if request.args.get("include_subsections", True) else target.own_end
    text = document.content[target.start : end]
    offset = request.args.get("offset", 0)
    excerpt = outline.read_part(text, "content", offset=offset, max_chars=generic_reads.get_max_chars(request))
    is_truncated = "truncated" in excerpt
    ending = "" if is_truncated else ", the end"
    message = f"Characters {offset} to {offset + len(excerpt['content'])} of the section{ending}."
    if is_truncated:
        message += " For more, send next_offset as offset."
    description = _describe_section(target) | {"length": len(text)}
    return _build_outcome(
        document, {"document": _summarize_document(document), "section": description | excerpt, "message": message}
    )


def _get_document(request: OpRequest) -> Document:
    return cast(
        "Document", access.get_visible_row(DOCUMENT, subject=request.subject, id=request.args[DOCUMENT.id_argument])
    )


def _build_outcome(document: Document, result: dict[str, Any]) -> OpOutcome:
    return OpOutcome(result=result, entity_id=str(document.pk), entity_name=document.title)


def _summarize_document(document: Document) -> dict[str, Any]:
    return {"id": str(document.pk), "title": document.title, "content_length": len(document.content)}


def _describe_section(each: MarkdownSection) -> dict[str, Any]:
    """Return the fields that identify a section."""
    return {name: getattr(each, name) for name in ("index", "level", "heading", "anchor", "line")}


def _build_headings_message(shown: int, total: int, *, has_more: bool) -> str:
    if not total:
        return "The document has no headings at these levels; onto.document.get returns its content."
    more = " For more, send next_offset as offset." if has_more else ""
    return f"{shown} of {total} headings.{more} onto.document.section.get returns the text of a section."


def _find_section(all_sections: Sequence[MarkdownSection], args: Mapping[str, Any]) -> MarkdownSection:
    """Return the section that a call names. Raises InvalidArgs unless it names exactly one."""
    names = [name for name in SECTION_ARGUMENTS if name in args]
    if len(names) != 1:
        message = "Send exactly one of heading, anchor and index; onto.document.outline.get lists them."
        raise build_invalid_args([ArgumentError(path=f"/{names[1]}" if names else "", code="one_of", message=message)])
    [name] = names
    candidates = [each for each in all_sections if _is_match(each, name, args[name])]
    if len(candidates) == 1:
        return candidates[0]
    raise (
        _build_ambiguity_error(name, candidates)
        if candidates
        else _build_not_found_error(name, all_sections, args[name])
    )


def _is_match(each: MarkdownSection, name: str, value: Any) -> bool:
    if name == "heading":
        return fold_case(each.heading) in (
            fold_case(_normalize_heading(value)),
            fold_case(_normalize_heading(value.lstrip("# "))),
        )
    return bool(getattr(each, name) == (value.lstrip("#") if name == "anchor" else value))


def _normalize_heading(heading: str) -> str:
    """Return a heading as the outline shows it: single spaces, cut to the maximum length."""
    return " ".join(heading.split())[:MAX_HEADING_LENGTH]


def _build_ambiguity_error(name: str, candidates: Sequence[MarkdownSection]) -> InvalidArgs:
    choices = [_describe_section(each) for each in candidates[:MAX_CANDIDATES]]
    which = ", ".join(f"{each['anchor']} (line {each['line']})" for each in choices)
    more = f" and {len(candidates) - MAX_CANDIDATES} more" if len(candidates) > MAX_CANDIDATES else ""
    message = f"{len(candidates)} sections have this {name}; send one of these anchors instead: {which}{more}."
    return build_invalid_args(
        [ArgumentError(path=f"/{name}", code="ambiguous_heading", message=message, expected=choices)]
    )


def _build_not_found_error(name: str, all_sections: Sequence[MarkdownSection], value: Any) -> InvalidArgs:
    """Return the error for an unknown section. It lists similar sections, or the first ones if none is similar."""
    if not all_sections:
        message = "The document has no headings; read it with onto.document.get."
        return build_invalid_args([ArgumentError(path=f"/{name}", code="no_headings", message=message)])
    if name == "index":
        message = f"index is beyond the last section; send 0 to {len(all_sections) - 1}."
        return build_invalid_args(
            [ArgumentError(path="/index", code="no_such_section", message=message, expected=len(all_sections) - 1)]
        )
    by_heading = {each.heading: each for each in reversed(all_sections[:MAX_COMPARED_HEADINGS])}
    similar = [by_heading[heading] for heading in english.find_similar(value, by_heading)]
    choices = [_describe_section(each) for each in similar or all_sections[:MAX_CANDIDATES]]
    intro = "Similar anchors" if similar else "The first anchors"
    message = f"No section has this {name}. {intro}: {', '.join(each['anchor'] for each in choices)}."
    return build_invalid_args(
        [ArgumentError(path=f"/{name}", code="no_such_section", message=message, expected=choices)]
    )
