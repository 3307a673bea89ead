"""What only documents do: text that models habitually send amiss is put right, and said."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from workspace.contract import Outcome, Request
from workspace.handlers import writes
from workspace.kinds import DOCUMENT, Kind
from workspace.services import markdown

UNTITLED = "Untitled Document"


class _Write(Protocol):
    def __call__(self, request: Request, *, kind: Kind) -> Outcome: ...


def create(request: Request) -> Outcome:
    """Add a document to a project. Raises NotFound and Forbidden for the project, Invalid."""
    return _written(request, writes.create_row, titled)


def update(request: Request) -> Outcome:
    """Set the fields that were sent and no others. Raises NotFound, Forbidden, Invalid."""
    return _written(request, writes.update_row, legible)


def titled(sent: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a new document's fields as they are to be stored, and a sentence for each that was changed."""
    fields, warnings = legible(sent)
    if fields["title"].strip():
        return fields, warnings
    return fields | {"title": UNTITLED}, (f"The title was blank, so the document is called {UNTITLED}.", *warnings)


def legible(sent: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a document's fields with real line breaks in the content, and a sentence where it had none."""
    content = sent.get("content") or ""
    read = markdown.unescaped(content)
    if read == content:
        return dict(sent), ()
    return {**sent, "content": read}, (r"Read \n in content as line breaks, for it had no other.",)


def _written(
    request: Request, write: _Write, mend: Callable[[Mapping[str, Any]], tuple[dict[str, Any], tuple[str, ...]]]
) -> Outcome:
    args, warnings = mend(request.args)
    outcome = write(replace(request, args=args), kind=DOCUMENT)
    return replace(outcome, warnings=(*warnings, *outcome.warnings))
