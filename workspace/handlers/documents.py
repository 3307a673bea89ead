"""What only documents do: they lie in a tree, and text that models habitually send amiss is put right, and said."""

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
BLANK = "The title was blank, so the document is called {title}."
MISSING = "The document has no title, so it is called {title}."

CASCADE, PROMOTE = "cascade", "promote"  # what a delete does with the documents below


def create(request: Request) -> Outcome:
    """Add a document to a project, at the root or under another one.

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
    """Set the fields that were sent and no others. Raises NotFound, Forbidden, Invalid."""
    sent, warnings = legible(request.args)
    outcome = writes.update_row(replace(request, args=sent), kind=DOCUMENT)
    return replace(outcome, warnings=(*warnings, *outcome.warnings))


def delete(request: Request) -> Outcome:
    """Mark a document deleted, and with it those below, or these move up to its place. Raises NotFound, Forbidden."""
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
    """Return a new document's fields as they are to be stored, and a sentence for each that was changed."""
    fields, warnings = legible(sent)
    title = fields.get("title")
    if title and title.strip():
        return fields, warnings
    why = MISSING if title is None else BLANK
    return fields | {"title": UNTITLED}, (why.format(title=UNTITLED), *warnings)


def legible(sent: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a document's fields with real line breaks in the content, and a sentence where it had none."""
    content = sent.get("content") or ""
    read = markdown.unescaped(content)
    if read == content:
        return dict(sent), ()
    return {**sent, "content": read}, (r"Read \n in content as line breaks, for it had no other.",)


def _deleted(number: int, *, promote: bool) -> str:
    """Tell what became of a document and of so many below it."""
    if not number:
        return "Deleted the document; no op finds it any more."
    below = "the document below it" if number == 1 else f"the {number} documents below it"
    if promote:
        return f"Deleted the document; no op finds it any more. Kept {below}: its children took its place."
    return f"Deleted the document and {below}; no op finds them any more."
