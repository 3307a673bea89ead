"""Outcomes about one row: the complete row, or after a write only what the caller cannot know."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, cast

from django.db import models

from core.handler_contract import OpOutcome, OpRequest
from workspace.entity_types import EntityType
from workspace.services.documents import outline
from workspace.services.entities import serialization


def build_row_outcome(
    row: Any,
    *,
    kind: EntityType,
    at: datetime,
    message: str,
    warnings: tuple[str, ...] = (),
    max_chars: int = outline.DEFAULT_CHARS,
) -> OpOutcome:
    """Build the outcome of a get: the complete row under its kind's name, long texts cut."""
    excerpt = outline.truncate_row(serialization.serialize_row(row, kind=kind, at=at), kind=kind, max_chars=max_chars)
    return build_excerpt_outcome(
        row, excerpt, kind=kind, message=message + build_cut_note(excerpt, kind=kind), warnings=warnings
    )


def build_create_outcome(
    row: Any,
    *,
    kind: EntityType,
    request: OpRequest,
    message: str,
    warnings: tuple[str, ...] = (),
    also: Collection[str] = (),
) -> OpOutcome:
    """Build the outcome of a create: id, name, state and what was sent, as it is stored; or only `fields` of it.

    Long texts, which the caller has just sent, empty values and defaults are left out. `also` names fields that the
    call set in other words. Raises InvalidArgs for unknown `fields`.
    """
    complete = serialization.serialize_row(row, kind=kind, at=request.at)
    asked = serialization.choose_fields(request.args, kind.answer_fields, also=kind.preview_fields)
    columns = {name: kind.model._meta.get_field(name) for name in kind.fields if name in request.args}
    sent = {
        name
        for name, column in columns.items()
        if name not in kind.long_texts and getattr(row, name) != cast("models.Field[Any, Any]", column).get_default()
    }
    shown = asked or {kind.label, "state_key", *sent, *also, *kind.computed_fields}
    selected = serialization.select_fields(complete, kind=kind, fields=shown)
    excerpt = outline.truncate_row(selected if asked else serialization.drop_empty(selected), kind=kind)
    return build_excerpt_outcome(
        row, excerpt, kind=kind, message=message + build_cut_note(excerpt, kind=kind), warnings=warnings
    )


def build_change_outcome(
    row: Any,
    *,
    kind: EntityType,
    request: OpRequest,
    changed: Collection[str],
    message: str,
    warnings: tuple[str, ...] = (),
) -> OpOutcome:
    """Build the outcome of a change: id, name and what changed, or only the id and the fields that the call asked for.

    A long text is shown only if requested: the caller has just sent it. Raises InvalidArgs for unknown
    `fields`.
    """
    complete = serialization.serialize_row(row, kind=kind, at=request.at)
    asked = serialization.choose_fields(request.args, kind.answer_fields, also=kind.preview_fields)
    texts = {name for name in kind.long_texts if complete[name]}
    shown = asked or {kind.label} | (set(changed) - texts)
    excerpt = outline.truncate_row(serialization.select_fields(complete, kind=kind, fields=shown), kind=kind)
    return build_excerpt_outcome(
        row, excerpt, kind=kind, message=message + build_cut_note(excerpt, kind=kind), warnings=warnings
    )


def build_excerpt_outcome(
    row: Any, excerpt: outline.Excerpt, *, kind: EntityType, message: str, warnings: tuple[str, ...] = ()
) -> OpOutcome:
    """Build the outcome that shows an excerpt of a row."""
    result = {kind.name: excerpt.row, "message": message}
    return OpOutcome(result=result, warnings=warnings, entity_id=str(row.pk), entity_name=getattr(row, kind.label))


def build_cut_note(excerpt: outline.Excerpt, *, kind: EntityType, place: str = "") -> str:
    """Return a sentence naming the texts that were cut and the op that reads the rest; "" if none was cut."""
    if not excerpt.truncated_fields:
        return ""
    fields = ", ".join(excerpt.truncated_fields)
    return f" Cut{place}: {fields}; {kind.get_op_path('get')} with field and offset returns the rest."
