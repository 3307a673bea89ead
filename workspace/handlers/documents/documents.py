"""Ops on documents. They form a tree; common mistakes of models in the text are repaired with a warning."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from core.handler_contract import OpOutcome, OpRequest, build_invalid_args
from workspace.entity_types import DOCUMENT
from workspace.handlers.documents import document_tree
from workspace.handlers.generic import generic_writes
from workspace.handlers.generic.row_outcomes import build_create_outcome
from workspace.models import Document
from workspace.services import access
from workspace.services.documents import merging, outline, tree
from workspace.services.documents.merging import PreparedMerge
from workspace.services.edges import linked_rows
from workspace.services.entities import duplicates
from workspace.services.entities.serialization import quote_name

DEFAULT_TITLE = "Untitled Document"
BLANK_TITLE_WARNING = "The title was blank, so the document was named {title}."
MISSING_TITLE_WARNING = "No title was sent, so the document was named {title}."

CASCADE, PROMOTE = "cascade", "promote"  # what a delete does with the documents below it


def create_document(request: OpRequest) -> OpOutcome:
    """Create a document in a project, at the root or under another document.

    Raises NotFound and Forbidden for the project, NotFound for the parent, InvalidArgs.
    """
    fields, warnings = repair_new_document(request.args)
    project = access.get_changeable_project(subject=request.subject, id=fields["project_id"])
    row, errors = generic_writes.build_row(fields, kind=DOCUMENT, project=project, by=request.subject, at=request.at)
    if errors:
        raise build_invalid_args(errors)
    document, locked_project = cast("Document", row), tree.lock_tree(project.pk)
    document.parent_id, parent_warnings = document_tree.find_parent(
        request, locked_project, id_argument="parent_id", title_argument="parent_title"
    )
    tree.insert_document(document, locked_project, position=fields.get("position"))
    outcome = build_create_outcome(
        document,
        kind=DOCUMENT,
        request=request,
        message=f"Created the document {quote_name(document.title)}.",
        warnings=(*warnings, *parent_warnings, *duplicates.warn_about_duplicate(document, kind=DOCUMENT)),
        also=("parent_id", "position") if document.parent_id else (),
    )
    return replace(outcome, result=outcome.result | {"structure": {"version": locked_project.tree_version}})


def prepare_update(request: OpRequest) -> PreparedMerge | None:
    """Let a model merge the texts, if requested. Raises NotFound, Forbidden."""
    fields, _ = repair_line_breaks(request.args)
    return merging.prepare_merge(replace(request, args=fields), kind=DOCUMENT)


def update_document(request: OpRequest) -> OpOutcome:
    """Update the fields that were sent. Raises NotFound, Forbidden, InvalidArgs."""
    fields, warnings = repair_line_breaks(request.args)
    outcome = generic_writes.update_row(replace(request, args=fields), kind=DOCUMENT)
    return replace(outcome, warnings=(*warnings, *outcome.warnings))


def delete_document(request: OpRequest) -> OpOutcome:
    """Mark a document as deleted. Documents below it are also deleted, or take its place if children is promote.

    Raises NotFound, Forbidden.
    """
    document, project = document_tree.lock_document(request)
    promote = request.args.get("children", CASCADE) == PROMOTE
    below_count = tree.delete_document(document, project, promote=promote, at=request.at)
    id = str(document.pk)
    message = _build_delete_message(document.title, below_count, promote=promote)
    result = {
        "document": {"id": id},
        "deleted": 1 if promote else 1 + below_count,
        "structure": {"version": project.tree_version},
        "message": message + linked_rows.describe_dependents(document, subject=request.subject),
    }
    return OpOutcome(result=result, entity_id=id, entity_name=document.title)


def repair_new_document(sent: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a new document's fields, with a title and real line breaks, and a warning for each repair."""
    fields, warnings = repair_line_breaks(sent)
    title = fields.get("title")
    if title and title.strip():
        return fields, warnings
    template = MISSING_TITLE_WARNING if title is None else BLANK_TITLE_WARNING
    return fields | {"title": DEFAULT_TITLE}, (template.format(title=DEFAULT_TITLE), *warnings)


def repair_line_breaks(sent: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a document's fields with real line breaks in the content, and a warning if they were escaped."""
    content = sent.get("content") or ""
    unescaped = outline.unescape_line_breaks(content)
    if unescaped == content:
        return dict(sent), ()
    return {**sent, "content": unescaped}, (r"Read \n in content as line breaks, because it had no others.",)


def _build_delete_message(title: str, below_count: int, *, promote: bool) -> str:
    """Return the message of a delete; `below_count` documents were below the deleted one."""
    if not below_count:
        return f"Deleted the document {quote_name(title)}; ops no longer find it."
    below = "the document below it" if below_count == 1 else f"the {below_count} documents below it"
    if promote:
        kept = f"Kept {below}: its children took its place."
        return f"Deleted the document {quote_name(title)}; ops no longer find it. {kept}"
    return f"Deleted the document {quote_name(title)} and {below}; ops no longer find them."
