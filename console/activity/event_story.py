"""An event's page as a story: what the model had read, what it sent and got, and what came next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import get_text_list

from analytics.events import problems
from analytics.events.event_filters import NOT_TRIED_IN_ADMIN
from analytics.events.models import OperationEvent
from analytics.turns import trace
from console import contents
from console.activity.turn_trace import format_duration
from console.reports.parts.verdicts import VerdictBox
from core.templatetags.admin_format import indented

MAX_STEPS = 4  # of the turn that are shown before the event, and after it
UNKNOWN_ARGUMENT, REQUIRED = "unknown_argument", "required"


class StoryStep(NamedTuple):
    """A step of the turn before or after the event: what it was, how long before or after, and its page."""

    text: str
    away: str
    url: str


@dataclass(frozen=True, slots=True)
class EventStory:
    """What the page shows above the fields."""

    outcome: VerdictBox
    had_read: Sequence[StoryStep]
    came_next: Sequence[StoryStep]
    sent: SafeString
    got: SafeString


def build_story(event: OperationEvent, request: HttpRequest) -> EventStory:
    """Return the story of an event, with stored args and results only for those who may see them."""
    shows_contents = contents.may_see(request)
    before, after = _read_turn(event)
    repair = next((each for each in after if each.repairs == event.pk), None)
    return EventStory(
        _describe_outcome(event, after, repair, shows_contents=shows_contents),
        [_build_step(each, event) for each in before if each.type in trace.READING_TYPES][-MAX_STEPS:],
        [_build_step(each, event) for each in after[:MAX_STEPS]],
        _render(event, "args", request, shows_contents=shows_contents),
        _render(event, "result", request, shows_contents=shows_contents),
    )


def _read_turn(event: OperationEvent) -> tuple[list[OperationEvent], list[OperationEvent]]:
    """Return the events of the turn before the event and after it, in order of time."""
    if not event.turn:
        return [], []
    turn_key = {"client": event.client, "session": event.session, "turn": event.turn}
    turn = OperationEvent.objects.filter(NOT_TRIED_IN_ADMIN, **turn_key)
    earlier = turn.filter(Q(time=event.time, id__lt=event.pk) | Q(time__lt=event.time)).order_by("-time", "-id")
    later = turn.filter(Q(time=event.time, id__gt=event.pk) | Q(time__gt=event.time)).order_by("time", "id")
    return list(reversed(earlier[:50])), list(later[:50])


def _describe_outcome(
    event: OperationEvent, after: Sequence[OperationEvent], repair: OperationEvent | None, *, shows_contents: bool
) -> VerdictBox:
    problem = problems.describe_problem(event)
    if not problem:
        return VerdictBox(f"It succeeded in {format_duration(event.latency_ms)}.", "good")
    text = _describe_failure(event, repair, shows_contents=shows_contents) if not event.ok else f"It found {problem}."
    if repair is not None:
        return VerdictBox(f"{text} Repaired {_format_distance(repair, event)} later.", "warning")
    if event.turn:
        words = trace.describe_next(event, after)
        text += f" Then {'the model ' if after else ''}{words}."
    return VerdictBox(text, "warning" if event.ok else "bad")


def _describe_failure(event: OperationEvent, repair: OperationEvent | None, *, shows_contents: bool) -> str:
    """Return what was wrong in sentences: "It sent status; the op has state_key." """
    errors = [(str(pointer), str(code)) for pointer, code in event.field_errors]
    unknown = [pointer.lstrip("/") for pointer, code in errors if code == UNKNOWN_ARGUMENT]
    missing = [pointer.lstrip("/") for pointer, code in errors if code == REQUIRED]
    others = [problems.describe_field_error(*error) for error in errors if error[1] not in (UNKNOWN_ARGUMENT, REQUIRED)]
    parts = []
    if unknown:
        known = _find_repaired_names(event, repair) if shows_contents else []
        sent = get_text_list(unknown, "and")
        parts.append(
            f"It sent {sent}; the op has {get_text_list(known, 'and')}."
            if known
            else f"It sent {sent}, which the op does not have."
        )
    if missing:
        parts.append(f"It did not send {get_text_list(missing, 'and')}.")
    if others:
        parts.append(f"It failed: {'; '.join(others)}.")
    return " ".join(parts) or f"It failed: {problems.describe_problem(event)}."


def _find_repaired_names(event: OperationEvent, repair: OperationEvent | None) -> list[str]:
    """Return the arguments that the repairing call sent and the failed one did not, if both are stored."""
    sent, repaired = (_get_args(each) for each in (event, repair))
    return [name for name in repaired if name not in sent] if sent else []


def _get_args(event: OperationEvent | None) -> dict[str, Any]:
    args = ((event.content if event else None) or {}).get("args")
    return args if isinstance(args, dict) else {}


def _build_step(step: OperationEvent, event: OperationEvent) -> StoryStep:
    return StoryStep(
        trace.describe_step(step),
        _format_distance(step, event),
        reverse("admin:analytics_operationevent_change", args=[step.pk]),
    )


def _format_distance(step: OperationEvent, event: OperationEvent) -> str:
    return format_duration(abs(step.time - event.time) / timedelta(milliseconds=1))


def _render(event: OperationEvent, part: str, request: HttpRequest, *, shows_contents: bool) -> SafeString:
    """Return stored args or a stored result as HTML, or why they are not shown. What a failed call got is its error."""
    if part == "result" and not event.ok:
        reason = f", {event.reason.replace('_', ' ')}" if event.reason else ""
        return format_html("The error {}{}.", event.code, reason)
    if event.content is None or not shows_contents:
        return contents.explain_missing(request, event.time)
    if "too_large" in event.content:
        return format_html("Not stored: args and result have {} bytes.", f"{event.content['too_large']:,}")
    if part not in event.content:
        return SafeString("Nothing.")
    return format_html('<pre class="ui-code">{}</pre>', indented(event.content[part]))
