"""Update strategies for long texts: replace, append, prepend or merge."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.db import models

from workspace.errors import FieldError
from workspace.kinds import APPEND, MERGE, PREPEND, REPLACE, Kind
from workspace.models import Entity

NO_MODEL = "No model is configured to merge texts, so {name} was appended."
NO_MERGE = "Ignored merge_instructions: only update_strategy merge_llm uses them."


@dataclass(frozen=True, slots=True)
class Merged:
    """The fields of an update with the final texts, the errors, and a warning for each change to the request."""

    fields: dict[str, Any]
    errors: list[FieldError]
    warnings: tuple[str, ...] = ()


def merge(row: Entity, *, kind: Kind, sent: Mapping[str, Any]) -> Merged:
    """Apply update_strategy, or the default strategy of each text, and return the fields to store.

    The caller must have locked the row, so that no text changes between this read and the write.
    """
    asked = sent.get("update_strategy")
    texts = {name: sent[name] for name in kind.merged if name in sent}
    fields, errors, warnings = dict(sent), [], []
    if asked in (APPEND, PREPEND, MERGE) and not texts:
        errors.append(_nothing_to_add(kind, asked))
    for name, text in texts.items():
        strategy = asked or kind.merged[name]
        if strategy == REPLACE or (text is None and not asked):
            continue  # null clears a text, whatever its default strategy
        if not (text or "").strip():
            errors.append(_blank(name, strategy))
            continue
        fields[name] = _added(getattr(row, name), text, before=strategy == PREPEND)
        if strategy == MERGE:
            warnings.append(NO_MODEL.format(name=name))
        errors += _too_long(kind, name, fields[name])
    if asked != MERGE and sent.get("merge_instructions"):
        warnings.append(NO_MERGE)
    return Merged(fields, errors, tuple(warnings))


def _added(old: str, new: str, *, before: bool) -> str:
    """Return both texts with one blank line between them."""
    if not old.strip():
        return new
    first, second = (new, old) if before else (old, new)
    return first.rstrip("\r\n") + "\n\n" + second.lstrip("\r\n")


def _nothing_to_add(kind: Kind, strategy: str) -> FieldError:
    names = " or ".join(kind.merged)
    message = f"update_strategy {strategy} needs a text to add; send {names}, or leave update_strategy out."
    return FieldError(path="/update_strategy", code="no_content", message=message)


def _blank(name: str, strategy: str) -> FieldError:
    message = f"{name} has nothing to {strategy.partition('_')[0]}; send a text, or leave it out."
    return FieldError(path=f"/{name}", code="no_content", message=message)


def _too_long(kind: Kind, name: str, text: str) -> list[FieldError]:
    most = cast("models.Field[Any, Any]", kind.model._meta.get_field(name)).max_length
    if most is None or len(text) <= most:
        return []
    message = f"{name} would have {len(text)} characters; the limit is {most}. Send less, or replace it."
    return [FieldError(path=f"/{name}", code="too_long", message=message, expected=most)]
