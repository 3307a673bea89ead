"""Reading long documents by section: the outline and the text of one section."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from core import nearest
from workspace.contract import Outcome, Request
from workspace.errors import FieldError, Invalid, invalid
from workspace.handlers import reads
from workspace.kinds import DOCUMENT
from workspace.models import Document
from workspace.services import access, excerpts
from workspace.services.matching import folded
from workspace.services.outline import LONGEST_HEADING, Section, sections

MOST_HEADINGS = 200
MOST_CANDIDATES = 10  # sections that an error lists
MOST_COMPARED = 500  # headings that an unknown one is compared with

NAMES = ("heading", "anchor", "index")  # the arguments that identify a section; a call sends exactly one


def outline(request: Request) -> Outcome:
    """Return the headings of a document. Raises NotFound."""
    document = _document(request)
    found = sections(document.content)
    deepest, offset = request.args.get("max_level", 6), request.args.get("offset", 0)
    wanted = [each for each in found if each.level <= deepest]
    shown = wanted[offset : offset + min(request.args.get("limit", MOST_HEADINGS), MOST_HEADINGS)]
    until = offset + len(shown)
    result: dict[str, Any] = {
        "document": _named(document),
        "headings": [_told(each) | {"offset": each.start, "length": each.end - each.start} for each in shown],
        "total": len(wanted),
        "has_more": until < len(wanted),
        "message": _said(len(shown), len(wanted), has_more=until < len(wanted)),
    }
    return _about(document, result | ({"next_offset": until} if until < len(wanted) else {}))


def section(request: Request) -> Outcome:
    """Return the text of one section, up to max_chars. Raises NotFound, Invalid."""
    document = _document(request)
    found = _one(sections(document.content), request.args)
    end = found.end if request.args.get("include_subsections", True) else found.own_end
    text = document.content[found.start : end]
    offset = request.args.get("offset", 0)
    shown = excerpts.part(text, "content", offset=offset, max_chars=reads.max_chars(request))
    goes_on = "truncated" in shown
    message = f"Characters {offset} to {offset + len(shown['content'])} of the section{'' if goes_on else ', the end'}."
    if goes_on:
        message += " For more, send next_offset as offset."
    told = _told(found) | {"length": len(text)}
    return _about(document, {"document": _named(document), "section": told | shown, "message": message})


def _document(request: Request) -> Document:
    return cast(
        "Document", access.visible_row(DOCUMENT, subject=request.subject, id=request.args[DOCUMENT.id_argument])
    )


def _about(document: Document, result: dict[str, Any]) -> Outcome:
    return Outcome(result=result, entity_id=str(document.pk), entity_name=document.title)


def _named(document: Document) -> dict[str, Any]:
    return {"id": str(document.pk), "title": document.title, "content_length": len(document.content)}


def _told(each: Section) -> dict[str, Any]:
    """Return the fields that identify a section."""
    return {name: getattr(each, name) for name in ("index", "level", "heading", "anchor", "line")}


def _said(shown: int, total: int, *, has_more: bool) -> str:
    if not total:
        return "The document has no headings at these levels; onto.document.get returns its content."
    more = " For more, send next_offset as offset." if has_more else ""
    return f"{shown} of {total} headings.{more} onto.document.section.get returns the text of a section."


def _one(found: Sequence[Section], args: Mapping[str, Any]) -> Section:
    """Return the section that a call names. Raises Invalid unless it names exactly one."""
    named = [name for name in NAMES if name in args]
    if len(named) != 1:
        message = "Send exactly one of heading, anchor and index; onto.document.outline.get lists them."
        raise invalid([FieldError(path=f"/{named[1]}" if named else "", code="one_of", message=message)])
    [name] = named
    candidates = [each for each in found if _is_named(each, name, args[name])]
    if len(candidates) == 1:
        return candidates[0]
    raise _several(name, candidates) if candidates else _none(name, found, args[name])


def _is_named(each: Section, name: str, value: Any) -> bool:
    if name == "heading":
        return folded(each.heading) in (folded(_bare(value)), folded(_bare(value.lstrip("# "))))
    return bool(getattr(each, name) == (value.lstrip("#") if name == "anchor" else value))


def _bare(heading: str) -> str:
    """Return a heading as the outline shows it: single spaces, cut to the maximum length."""
    return " ".join(heading.split())[:LONGEST_HEADING]


def _several(name: str, candidates: Sequence[Section]) -> Invalid:
    shown = [_told(each) for each in candidates[:MOST_CANDIDATES]]
    which = ", ".join(f"{each['anchor']} (line {each['line']})" for each in shown)
    more = f" and {len(candidates) - MOST_CANDIDATES} more" if len(candidates) > MOST_CANDIDATES else ""
    message = f"{len(candidates)} sections have this {name}; send one of these anchors instead: {which}{more}."
    return invalid([FieldError(path=f"/{name}", code="ambiguous_heading", message=message, expected=shown)])


def _none(name: str, found: Sequence[Section], value: Any) -> Invalid:
    """Return the error for an unknown section. It lists similar sections, or the first ones if none is similar."""
    if not found:
        message = "The document has no headings; read it with onto.document.get."
        return invalid([FieldError(path=f"/{name}", code="no_headings", message=message)])
    if name == "index":
        message = f"index is beyond the last section; send 0 to {len(found) - 1}."
        return invalid([FieldError(path="/index", code="no_such_section", message=message, expected=len(found) - 1)])
    by_heading = {each.heading: each for each in reversed(found[:MOST_COMPARED])}
    close = [by_heading[heading] for heading in nearest.close(value, by_heading)]
    shown = [_told(each) for each in close or found[:MOST_CANDIDATES]]
    told = "Similar anchors" if close else "The first anchors"
    message = f"No section has this {name}. {told}: {', '.join(each['anchor'] for each in shown)}."
    return invalid([FieldError(path=f"/{name}", code="no_such_section", message=message, expected=shown)])
