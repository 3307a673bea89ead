"""Update strategies for long texts: replace, append, prepend, or merge by a model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.db import models

from workspace.entity_types import APPEND, MERGE, PREPEND, REPLACE, EntityType
from workspace.errors import ArgumentError
from workspace.models import Entity
from workspace.services.documents.model_merge import PreparedMerge

UNUSED_INSTRUCTIONS_WARNING = "Ignored merge_instructions: only update_strategy merge_llm uses them."


@dataclass(frozen=True, slots=True)
class MergedFields:
    """The fields of an update with the final texts, the errors, and a warning for each change to the request."""

    fields: dict[str, Any]
    errors: list[ArgumentError]
    warnings: tuple[str, ...] = ()


def apply_update_strategy(
    row: Entity, *, kind: EntityType, sent: Mapping[str, Any], prepared: PreparedMerge | None = None
) -> MergedFields:
    """Apply update_strategy, or the default strategy of each text, and return the fields to store.

    The caller must have locked the row, so that no text changes between this read and the write. `prepared` has what a
    model merged of its texts; the others are appended.
    """
    requested = sent.get("update_strategy")
    texts = {name: sent[name] for name in kind.update_strategies if name in sent}
    fields, errors, warnings = dict(sent), [], []
    if requested in (APPEND, PREPEND, MERGE) and not texts:
        errors.append(_build_missing_text_error(kind, requested))
    for name, text in texts.items():
        strategy = requested or kind.update_strategies[name]
        if strategy == REPLACE or (text is None and not requested):
            continue  # null clears a text, whatever its default strategy
        if not (text or "").strip():
            errors.append(_build_blank_error(name, strategy))
            continue
        if prepared and name in prepared.merged_texts:
            fields[name] = prepared.merged_texts[name]
        else:
            fields[name] = _join_texts(getattr(row, name), text, before=strategy == PREPEND)
        if prepared and name in prepared.warnings:
            warnings.append(prepared.warnings[name])
        errors += _check_length(kind, name, fields[name])
    if requested != MERGE and sent.get("merge_instructions"):
        warnings.append(UNUSED_INSTRUCTIONS_WARNING)
    return MergedFields(fields, errors, tuple(warnings))


def _join_texts(old: str, new: str, *, before: bool) -> str:
    """Return both texts with one blank line between them."""
    if not old.strip():
        return new
    first, second = (new, old) if before else (old, new)
    return first.rstrip("\r\n") + "\n\n" + second.lstrip("\r\n")


def _build_missing_text_error(kind: EntityType, strategy: str) -> ArgumentError:
    names = " or ".join(kind.update_strategies)
    message = f"update_strategy {strategy} needs a text to add; send {names}, or leave update_strategy out."
    return ArgumentError(path="/update_strategy", code="no_content", message=message)


def _build_blank_error(name: str, strategy: str) -> ArgumentError:
    message = f"{name} has nothing to {strategy.partition('_')[0]}; send a text, or leave it out."
    return ArgumentError(path=f"/{name}", code="no_content", message=message)


def _check_length(kind: EntityType, name: str, text: str) -> list[ArgumentError]:
    max_length = cast("models.Field[Any, Any]", kind.model._meta.get_field(name)).max_length
    if max_length is None or len(text) <= max_length:
        return []
    message = f"{name} would have {len(text)} characters; the limit is {max_length}. Send less, or replace it."
    return [ArgumentError(path=f"/{name}", code="too_long", message=message, expected=max_length)]
