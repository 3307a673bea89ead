"""Ops on documents. They form a tree; common mistakes of models in the text are repaired with a warning."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from workspace.contract import Outcome, Request
from workspace.errors import invalid
from workspace.handlers import document_places, reads, writes
from workspace.kinds import DOCUMENT
from workspace.models import Document
from workspace.services import access, markdown, tree

UNTITLED = "Untitled Document"
BLANK = "The title was blank, so the document was named {title}."
MISSING = "No title was sent, so the document was named {title}."

CASCADE, PROMOTE = "cascade", "promote"  # what a delete does with the documents below it


def create(request: Request) -> Outcome:
    """Create a document in a project, at the root or under another document.

    Raises NotFound and Forbidden for the project, NotFound for the parent, Invalid.
    """
    sent, warnings = titled(request.args)
    project = access.changeable_project(subject=request.subject, id=sent["project_id"])
    row, errors = writes.build(sent, kind=DOCUMENT, project=project, by=request.subject, at=request.at)
    if errors:
        raise invalid(errors)
    document, held = cast("Document", row), tree.hold(project.pk)
    document.parent_id, more = document_places.parent(
        request, held, id_argument="parent_id", title_argument="parent_title"
    )
    tree.insert(document, held, position=sent.get("position"))
    made = reads.outcome(
        document, kind=DOCUMENT, at=request.at, message="Created the document.", warnings=(*warnings, *more)
    )
    return replace(made, result=made.result | {"structure": {"version": held.tree_version}})


def update(request: Request) -> Outcome:
    """Update the fields that were sent. Raises NotFound, Forbidden, Invalid."""
    sent, warnings = legible(request.args)
    outcome = writes.update_row(replace(request, args=sent), kind=DOCUMENT)
    return replace(outcome, warnings=(*warnings, *outcome.warnings))


def delete(request: Request) -> Outcome:
    """Mark a document as deleted. Documents below it are deleted too, or take its place if children is promote.

    Raises NotFound, Forbidden.
    """
    document, project = document_places.held(request)
    promote = request.args.get("children", CASCADE) == PROMOTE
    number = tree.remove(document, project, promote=promote, at=request.at)
    id = str(document.pk)
    result = {
        "document": {"id": id},
        "deleted": 1 if promote else 1 + number,
        "structure": {"version": project.tree_version},
        "message": _deleted(number, promote=promote),
    }
    return Outcome(result=result, entity_id=id, entity_name=document.title)


def titled(sent: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a new document's fields, with a title and real line breaks, and a warning for each repair."""
    fields, warnings = legible(sent)
    title = fields.get("title")
    if title and title.strip():
        return fields, warnings
    why = MISSING if title is None else BLANK
    return fields | {"title": UNTITLED}, (why.format(title=UNTITLED), *warnings)


def legible(sent: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a document's fields with real line breaks in the content, and a warning if they were escaped."""
    content = sent.get("content") or ""
    read = markdown.unescaped(content)
    if read == content:
        return dict(sent), ()
    return {**sent, "content": read}, (r"Read \n in content as line breaks, because it had no others.",)


def _deleted(number: int, *, promote: bool) -> str:
    """Return the message of a delete; `number` documents were below the deleted one."""
    if not number:
        return "Deleted the document; ops no longer find it."
    below = "the document below it" if number == 1 else f"the {number} documents below it"
    if promote:
        return f"Deleted the document; ops no longer find it. Kept {below}: its children took its place."
    return f"Deleted the document and {below}; ops no longer find them."
