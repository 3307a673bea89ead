"""Choose which fields of a remote answer a model sees, with a recorded answer as the preview.

The answer comes from a try of the op. It goes to the browser, signed, and back. It is not stored.
"""

from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.utils import timezone

from core.admin import base
from core.text import json_text, token_budget
from gateway.execution import result_shape
from registry.drafts import history
from registry.models import Op
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import Action, CopyChange

SIGNING_SALT = "gateway.answer_fields"
MAX_RECORDED = 500_000  # bytes of an answer that goes to the browser and back


class AnswerFieldsForm(forms.Form):
    """The fields that a model sees, one a line, and the recorded answer."""

    fields_text = forms.CharField(
        label="Fields that a model sees",
        required=False,
        max_length=5_000,
        widget=base.LINES_WIDGET,
        help_text="One per line, such as items.id. If empty, all fields.",
    )
    recorded = forms.CharField(widget=forms.HiddenInput)

    def clean_recorded(self) -> dict[str, Any]:
        """Return the answer that was recorded."""
        try:
            recorded: dict[str, Any] = signing.loads(self.cleaned_data["recorded"], salt=SIGNING_SALT)
        except signing.BadSignature:
            raise ValidationError("The recorded answer is damaged. Try the op again.") from None
        return recorded

    def read_fields(self) -> list[str]:
        """Return the fields."""
        lines = (line.strip() for line in self.cleaned_data["fields_text"].splitlines())
        return [line for line in lines if line]


@dataclass(frozen=True, slots=True)
class FieldsPreview:
    """What a model would see of a recorded answer: its JSON, tokens of the whole, of this, and of a call; warnings."""

    form: AnswerFieldsForm
    shown: str
    tokens_before: int
    tokens_after: int
    warnings: list[str]
    limit: int = field(default_factory=lambda: settings.GATEWAY_RESULT_TOKENS)


def start_preview(op: Op, result: dict[str, Any]) -> FieldsPreview | None:
    """Return the preview with the fields that the op has now; None if the answer is too large to go along."""
    if len(json_text.dump(result)) > MAX_RECORDED:
        return None
    initial = {
        "fields_text": "\n".join(op.result_fields),
        "recorded": signing.dumps(result, salt=SIGNING_SALT, compress=True),
    }
    return _build_preview(AnswerFieldsForm(initial=initial), result, op.result_fields)


def preview_typed(form: AnswerFieldsForm) -> FieldsPreview:
    """Return the preview with the fields as typed. The form must be valid."""
    return _build_preview(form, form.cleaned_data["recorded"], form.read_fields())


def save_fields(op: Op, fields: list[str], *, by: str) -> None:
    """Save the fields into the draft of the op, and record the change."""
    before = op.result_fields
    if fields == before:
        return
    op.result_fields = fields
    op.save(update_fields=["result_fields", "updated_at"])
    change = CopyChange(Kind.OP, op.op, Action.CHANGED, {"result_fields": (before, fields)})
    history.record_changes([change], by=by, at=timezone.now())


def _build_preview(form: AnswerFieldsForm, result: dict[str, Any], fields: list[str]) -> FieldsPreview:
    shown, warnings = result_shape.project_fields(result, fields)
    text = json_text.dump(shown, indent=True).decode()
    return FieldsPreview(form, text, _count(result), _count(shown), warnings)


def _count(value: Any) -> int:
    return token_budget.count(json_text.dump(value).decode())
