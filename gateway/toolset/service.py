"""toolset: choose what to show the model at the start of a turn. The flags decide; a token keeps the decision."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Any, NotRequired, TypedDict

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from analytics.flags import DYNAMIC, FlagKey, Surface
from analytics.rollout import assignment, evaluation, exposures
from analytics.rollout.assignment import Routing
from analytics.rollout.evaluation import EvaluationDetails
from core.database.deadlines import Deadline, DeadlineExceeded
from core.text import token_budget
from gateway.access import release_routing, request_context
from gateway.access.release_routing import LegacyTools
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import FieldError, InvalidRequestError, PermissionDeniedError
from gateway.contracts.validation import find_field_errors
from gateway.executors.in_process import find_time_zone
from gateway.models import Scope
from gateway.toolset import legacy_selection, rendering
from gateway.toolset.conversation import (
    MESSAGE_SCHEMA,
    ROW_SCHEMA,
    ToolsetConversation,
    build_conversation_properties,
)
from gateway.toolset.legacy_selection import SelectedToolset
from gateway.toolset.rendering import FORMATS, NATIVE_FORMATS
from gateway.toolset.shown_tools import ToolsetRequest
from registry.jsonschema.validator import SchemaValidator

TOOLSET_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        **build_conversation_properties(message=MESSAGE_SCHEMA, row=ROW_SCHEMA),
        "format": {"type": "string", "enum": list(FORMATS), "description": "The tool format of this provider"},
        "surface": {
            "type": "string",
            "enum": list(Surface),
            "description": "Preview this surface instead of the flags' choice (scope preview; no exposure)",
        },
    },
    "required": ["format"],
    "additionalProperties": False,
}

MAX_LOOKUP_MS = 500  # for the user's time zone


class ToolsetAnswer(TypedDict):
    """The tools of a model. `tokens` counts them and the prompt (o200k_base), without tools that wait for a search."""

    id: str  # a token, which calls send back
    surface: str
    release: str
    cohort: str
    tools: list[dict[str, Any]]  # in the format that was asked for
    ops: NotRequired[dict[str, dict[str, str]]]  # by the name of a tool that stands for an op
    prompt: str
    tokens: int
    selection: NotRequired[dict[str, Any]]  # which tools were chosen, on the surface legacy


def build_toolset(body: dict[str, Any], caller: Caller, meta: Mapping[str, Any], trace: Trace) -> ToolsetAnswer:
    """Return the tools that a caller's model gets, and the prompt that goes with them.

    Raises InvalidRequestError for a malformed body, PermissionDeniedError for a preview without the scope,
    NotFoundError for an unknown agent, cache.NoLiveRelease if no release is live.
    """
    if errors := find_field_errors(_get_validator(), body):
        raise InvalidRequestError(
            f"The toolset request is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    served, outcomes = _decide_surface(caller, body.get("surface"), body["format"])
    catalog = release_routing.get_catalog(served)
    served = replace(served, release=catalog.version)
    trace.release = catalog.version
    caller = request_context.apply_agent(caller, meta, lambda _: catalog)
    request = ToolsetRequest.of_caller(caller)
    if served.surface == Surface.LEGACY and _is_dynamic(outcomes):
        selected = legacy_selection.select_dynamically(
            replace(request, conversation=ToolsetConversation.of_body(body)),
            body["format"],
            catalog,
            turn=_get_turn(caller),
        )
    else:
        toolset = rendering.get_cached_toolset(served.surface, body["format"], catalog, request)
        selected = legacy_selection.describe_static(toolset)
    if body.get("surface") is None:  # a preview is not an exposure
        exposures.record_exposures(outcomes, subject=caller.subject, source=caller.key.prefix, at=timezone.now())
    return answer_toolset(served, selected, caller=caller, format=body["format"], at=trace.at)


def answer_toolset(
    served: Routing, selected: SelectedToolset, *, caller: Caller, format: str, at: datetime, step: int = 0
) -> ToolsetAnswer:
    """Return the answer for a toolset, with a new token. `step` is how often it was escalated."""
    toolset, is_legacy = selected.toolset, served.surface == Surface.LEGACY
    prompt = toolset.prompt if is_legacy else f"{toolset.prompt}\n\n{_describe_today(caller.subject, at)}"
    legacy = LegacyTools(format, step, selected.get_summary()) if is_legacy else None
    if served.surface == Surface.HYBRID:
        served = replace(served, own_tools=tuple(each["op"] for each in toolset.ops.values()))
    answer: ToolsetAnswer = {
        "id": release_routing.issue_toolset(served, key=caller.key, subject=caller.subject, legacy=legacy),
        "surface": served.surface,
        "release": served.release,
        "cohort": served.cohort,
        "tools": toolset.tools,
        "ops": toolset.ops,
        "prompt": prompt,
        "tokens": toolset.tool_tokens + _count_tokens(prompt),
        "selection": selected.selection,
    }
    if not toolset.ops:
        del answer["ops"]
    if not is_legacy:
        del answer["selection"]
    return answer


def _is_dynamic(outcomes: Iterable[EvaluationDetails]) -> bool:
    return any(each.flag == FlagKey.SELECTION and each.variant == DYNAMIC for each in outcomes)


def _get_turn(caller: Caller) -> tuple[str, ...]:
    """Return what names the turn among all turns; empty if the caller names none."""
    return (caller.key.client, caller.subject, caller.session, caller.turn) if caller.turn else ()


def _describe_today(subject: str, at: datetime) -> str:
    """Return the last paragraph of a prompt: the user's day. It has no time, so that the prompt stays cached for a day.

    Without a database, which a toolset does not need, the day is that of UTC.
    """
    zone: tzinfo
    try:
        with Deadline.after(milliseconds=MAX_LOOKUP_MS).limit_waits():
            zone = find_time_zone(subject)
    except (OperationalError, InterfaceError, DeadlineExceeded):
        zone = UTC
    return f"Today is {at.astimezone(zone):%A, %Y-%m-%d} in the user's time zone, {zone}."


@functools.lru_cache(maxsize=100)  # of few prompts on few days in few zones
def _count_tokens(text: str) -> int:
    return token_budget.count(text)


def _decide_surface(caller: Caller, surface: str | None, format: str) -> tuple[Routing, list[EvaluationDetails]]:
    """Return what the flags decide, and the outcome of each flag.

    If a format has no tool search, callers of the native surface get the gateway surface.
    """
    served, outcomes = assignment.evaluate_flags(caller.evaluation_context)
    if surface == Surface.NATIVE and format not in NATIVE_FORMATS:
        problem = FieldError("/surface", "conflict", f"Send the format {' or '.join(NATIVE_FORMATS)}.")
        message = f"The format {format} has no tool search, which the native surface needs."
        raise InvalidRequestError(message, reason="malformed_call", field_errors=[problem])
    if surface is not None:
        if Scope.PREVIEW not in caller.key.scopes:
            message = "This API key lacks the scope preview. Leave surface out, or use a key that has it."
            problem = FieldError("/surface", "scope_missing", "Leave it out.")
            raise PermissionDeniedError(message, reason="scope_missing", field_errors=[problem])
        served = replace(served, surface=surface)
    served = _route_native(served, format)
    if served.surface == Surface.LEGACY:
        outcomes.append(assignment.evaluate_flag(FlagKey.SELECTION, caller.evaluation_context))
        served = replace(served, cohort=evaluation.join_cohort_names(outcomes))
    return served, outcomes


def _route_native(served: Routing, format: str) -> Routing:
    if served.surface != Surface.NATIVE:
        return served
    is_supported = format in NATIVE_FORMATS
    return replace(served, native_format=format) if is_supported else replace(served, surface=Surface.GATEWAY)


@functools.cache
def _get_validator() -> SchemaValidator:
    return SchemaValidator(TOOLSET_SCHEMA)
