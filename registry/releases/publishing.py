"""Publishing: freeze the draft into a release and make it live."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings

from core import memory
from core.text import json_text
from registry import checks
from registry.catalog import builder
from registry.drafts import draft
from registry.evals import evaluation
from registry.evals.comparison import EvalComparison
from registry.help import token_counts
from registry.models import Release
from registry.releases import lifecycle, new_warnings, stored_releases
from registry.snapshot import snapshot


class NotPublishable(Exception):
    """The draft would break serving. `problems` lists what to fix."""

    def __init__(self, problems: Sequence[checks.Finding]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = list(problems)


class ReasonMissing(Exception):
    """The draft has warnings that the live release does not, and no reason was given. `warnings` lists them."""

    def __init__(self, warnings: Sequence[checks.Finding]) -> None:
        super().__init__("; ".join(str(warning) for warning in warnings[:5]))
        self.warnings = list(warnings)


class LossReasonMissing(Exception):
    """The draft loses more eval cases than the margin allows, and no reason was given."""

    def __init__(self, compared: EvalComparison) -> None:
        lost = [each.case.request for each in compared.lost]
        super().__init__(
            f"The draft loses more than {settings.GATEWAY_EVAL_MARGIN} points of a hit rate of its eval cases. Improve "
            f"what was lost, or say why it is right to publish. Lost: {len(lost)}, such as: {'; '.join(lost[:3])}"
        )
        self.compared = compared


def compute_draft_version() -> str:
    """Return the version that publishing the current draft would create; empty if no release could store it."""
    return snapshot.compute_version(snapshot.snapshot_draft())


def publish_draft(
    *, note: str, by: str, at: datetime, accepted: str = "", seen: str = "", accepted_loss: str = ""
) -> Release:
    """Freeze the draft and make it live. The same content gives the same release.

    `accepted` is the reason for accepting warnings that the live release does not have; it is stored with them. It is
    not needed if the release exists already. `accepted_loss` is the reason for losing more eval cases than the margin
    allows; it is stored in the release history. `seen` is the version of the draft that the user reviewed.

    Raises NotPublishable, ReasonMissing, LossReasonMissing, draft.DraftChanged, AlreadyLive, and AlreadyWithdrawn if
    the draft equals a withdrawn release.
    """
    with memory.pause_gc():
        frozen = _read_publishable_draft(seen=seen)
        compared = evaluation.compare_with_live(frozen.version, frozen.content, stored_releases.get_live_release())
        is_loss = evaluation.exceeds_margin(compared)
        if compared and is_loss and not accepted_loss.strip():
            raise LossReasonMissing(compared)
        release = _get_or_create_release(frozen, by=by, at=at, accepted=accepted)
    lifecycle.activate_release(
        version=release.version,
        note=note,
        by=by,
        at=at,
        eval_figures=compared.as_figures() if compared else {},
        lost_because=accepted_loss.strip() if is_loss else "",
    )
    return release


def freeze_draft(*, by: str, at: datetime, accepted: str = "", seen: str = "") -> Release:
    """Freeze the draft into an immutable release, without making it live.

    See `publish_draft` for the arguments. Raises NotPublishable, ReasonMissing, and draft.DraftChanged.
    """
    with memory.pause_gc():
        return _get_or_create_release(_read_publishable_draft(seen=seen), by=by, at=at, accepted=accepted)


class _PublishableDraft(NamedTuple):
    """The content of the draft, its canonical JSON and the hash of that."""

    content: dict[str, Any]
    text: str
    version: str


def _read_publishable_draft(*, seen: str) -> _PublishableDraft:
    content = snapshot.snapshot_draft()
    try:
        content_json = json_text.canonicalize(content)
    except ValueError:  # the problems report it for each op
        raise NotPublishable(checks.find_errors(content)) from None
    text, version = content_json.decode(), json_text.hash_canonical_form(content_json)
    problems = checks.find_errors(content, canonical_text=text)
    if not stored_releases.is_live(
        version
    ):  # what is live already changes nothing for models, and starting must not fail for it
        problems += checks.find_unrunnable_ops(content["ops"])
    if problems:
        raise NotPublishable(problems)
    if seen and seen != version:
        raise draft.DraftChanged("The draft has changed since you reviewed it. Review the changes again.")
    return _PublishableDraft(content, text, version)


def _get_or_create_release(frozen: _PublishableDraft, *, by: str, at: datetime, accepted: str) -> Release:
    if release := Release.objects.filter(version=frozen.version).first():
        return release
    # Counted on what will be served: its keys have the order of the frozen text.
    counts = token_counts.count_catalog_tokens(builder.build_catalog(frozen.version, json.loads(frozen.text)))
    warnings = new_warnings.find_new_warnings(frozen.content, counts)
    if warnings and not accepted.strip():
        raise ReasonMissing(warnings)
    release, _ = Release.objects.get_or_create(
        version=frozen.version,
        defaults={
            "content": frozen.text,
            "tokens": counts,
            "op_count": len(frozen.content["ops"]),
            "accepted_warnings": [warning.as_dict() for warning in warnings],
            "accepted_because": accepted.strip() if warnings else "",
            "created_at": at,
            "created_by": by,
        },
    )
    return release


def count_tokens(content: dict[str, Any]) -> dict[str, list[int]]:
    """Return the token counts of a snapshot's help (see `sizes.token_counts`), skipping ops that cannot be served."""
    servable = {**content, "ops": [op for op in content["ops"] if not checks.find_op_errors(op)]}
    return token_counts.count_catalog_tokens(builder.build_catalog("", json.loads(json_text.canonicalize(servable))))
