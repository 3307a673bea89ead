"""The effect of a cohort in words, also while its form is edited."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.forms import Script
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone

from analytics.flags import LIVE, FlagKey, Surface
from analytics.rollout import assignment, exposures, impact
from analytics.rollout.evaluation import Rollout
from analytics.rollout.impact import RolloutImpact, VariantChange
from console.rollout.exposures import name_variants
from core.admin.page_parts import LivePreviewAdmin
from gateway.access import release_routing
from gateway.access.request_context import UserContext
from gateway.toolset import surfaces
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog import cache
from registry.catalog.model import FULL_VISIBILITY, Catalog, CatalogOp

MAX_CONTEXTS = 3  # contexts described per move
MASTER_SWITCH_OFF = "The master switch AGENTIC_CHAT_TOOL_GATEWAY is off: until it is on, everyone stays on legacy."
LARGE_SHARE = 0.5  # share of the seen users from which a change may be a mistake
INCOMPLETE_FORM = "Fill in the form to see its effect."


def compute_impact(flag: FlagKey, after: Rollout, *, at: datetime) -> RolloutImpact:
    """Return the effect on last week's users of changing the current rollout to `after`."""
    return impact.measure_impact(flag, assignment.load_rollout(), after, exposures.list_recent(at))


def describe_impact(effect: RolloutImpact) -> list[str]:
    """Describe an effect in sentences, the most important first."""
    if not effect.seen:
        return ["No users were seen in the last 7 days, so the effect is unknown."]
    lines = [line for move in effect.moves for line in _describe_move(effect, move)]
    if not effect.moves:
        lines.append(f"No change for {_describe_users(effect.seen)}.")
    lines += _describe_taken(effect)
    if effect.moved_count >= 2 and effect.moved_count / effect.seen > LARGE_SHARE:
        lines.append(f"That is {effect.moved_count / effect.seen:.0%} of all users seen.")
    if effect.flag == FlagKey.SURFACE and not settings.AGENTIC_CHAT_TOOL_GATEWAY:
        lines.append(MASTER_SWITCH_OFF)
    return lines


def _describe_taken(effect: RolloutImpact) -> Iterator[str]:
    """Yield which other cohorts lose users. A cohort whose calls are compared then means other users than before."""
    for name, count in effect.taken.items():
        yield f"{name} loses {_format_count(count, 'user')}. Its figures until now include them."


def _describe_move(effect: RolloutImpact, move: VariantChange) -> Iterator[str]:
    verb = "moves" if move.count == 1 else "move"
    names = name_variants([move.before, move.after])
    names |= {LIVE: "the live release"}
    transition = f"from {names[move.before]} to {names[move.after]}"
    yield f"{move.count:,} of {_describe_users(effect.seen)} {verb} {transition}."
    if effect.flag == FlagKey.SURFACE:
        yield from _describe_surface_move(move)
    elif effect.flag == FlagKey.RELEASE:
        yield from _describe_release_move(move)


def _describe_surface_move(move: VariantChange) -> Iterator[str]:
    try:
        catalog = cache.get_live_catalog()
    except cache.NoLiveRelease:
        return
    for context in move.contexts[:MAX_CONTEXTS]:
        before, after = (_list_runnable_ops(each, catalog, context) for each in (move.before, move.after))
        prefix = f"In the context {context}" if context else "Without a context"
        if difference := _describe_op_difference(before, after):
            yield f"{prefix}, the model {difference}."
        else:
            yield f"{prefix}, the model can run the same ops."


def _describe_release_move(move: VariantChange) -> Iterator[str]:
    try:
        before, after = (_get_catalog(each) for each in (move.before, move.after))
    except (*release_routing.RELEASE_GONE_ERRORS, cache.NoLiveRelease):
        yield "One of the two releases can no longer be served: its users get the live release."
        return
    changed_count = sum(before.ops[path] != op for path, op in after.ops.items() if path in before.ops)
    yield f"{_format_count(changed_count, 'op')} {'has' if changed_count == 1 else 'have'} different copy."
    if difference := _describe_op_difference(dict(before.ops), dict(after.ops)):
        yield f"The model {difference}."


def _list_runnable_ops(surface: str, catalog: Catalog, context: str) -> dict[str, CatalogOp]:
    """Return the ops that a model can run on a surface, by path: those of the context on legacy, else all."""
    if surface != Surface.LEGACY:
        return {path: catalog.ops[path] for path in catalog.view_for(FULL_VISIBILITY).ops}
    tools = surfaces.select_tools(surface, catalog, ToolsetRequest(FULL_VISIBILITY, UserContext(context))).tools
    return {tool.op.op: tool.op for tool in tools if tool.op}


def _describe_op_difference(before: dict[str, CatalogOp], after: dict[str, CatalogOp]) -> str:
    """Describe the difference between two sets of ops: "gains 4 write ops and loses 1 read op"."""
    gained = [op for path, op in after.items() if path not in before]
    lost = [op for path, op in before.items() if path not in after]
    parts = [f"{verb} {_count_by_kind(ops)}" for verb, ops in (("gains", gained), ("loses", lost)) if ops]
    return " and ".join(parts)


def _count_by_kind(ops: list[CatalogOp]) -> str:
    writes = sum(op.is_write for op in ops)
    counts = [
        _format_count(number, f"{kind} op")
        for number, kind in ((writes, "write"), (len(ops) - writes, "read"))
        if number
    ]
    return " and ".join(counts)


def _get_catalog(variant: str) -> Catalog:
    return cache.get_live_catalog() if variant == LIVE else cache.get_catalog(variant)


def _describe_users(number: int) -> str:
    """Describe the users that a change was evaluated for: all seen last week, or the latest up to the limit."""
    return (
        f"the latest {number:,} users"
        if number == exposures.MAX_SUBJECTS
        else f"last week's {_format_count(number, 'user')}"
    )


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class ImpactPreviewMixin(LivePreviewAdmin):
    """Adds a panel with the effect of the unsaved form on recently seen users."""

    preview_path = "impact"
    change_form_template = "console/rollout/impact_form.html"
    compressed_fields = False  # labels above inputs, because the effect is next to the form

    class Media:
        css = {"all": ["console/report.css"]}
        js = [Script("console/impact.js", defer=True)]

    def build_rollout_from_form(self, request: HttpRequest, row: Any) -> tuple[FlagKey, Rollout] | None:
        """Return the flag and the rollout as the submitted form would make it; None if the form has errors."""
        raise NotImplementedError

    def render_preview(self, request: HttpRequest, row: Any) -> str:
        flag_and_rollout = self.build_rollout_from_form(request, row)
        lines = (
            [INCOMPLETE_FORM] if flag_and_rollout is None else describe_impact(self._compute_impact(*flag_and_rollout))
        )
        return render_to_string("console/rollout/impact.html", {"lines": lines})

    def _compute_impact(self, flag: FlagKey, after: Rollout) -> RolloutImpact:
        return compute_impact(flag, after, at=timezone.now())
