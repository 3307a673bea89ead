"""Load the context of a turn: one batch of reads, made into layers that fit their budgets."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from chat.context import budgets, layers, reads
from chat.context import layers as places
from chat.context.layers import Context, Layer, Place
from chat.context.reads import BatchCall, Results
from chat.context.sections import place_views, related, row_lines, system_prompt
from chat.context.sections.row_lines import SIZES, Size
from chat.context.sections.tool_names import ToolNames
from core.text import token_budget

__all__ = ["BatchCall", "Context", "Layer", "Place", "load_context"]

SYSTEM, LOCATION = "system", "location"
NO_IDS = "There is no room for the ids of these rows. A list or a search has them."


def load_context(
    batch: BatchCall,
    *,
    place: Place,
    toolset: Mapping[str, Any],
    at: datetime,
    subject: str = "",
    shorten: Callable[[Any], Any] = lambda value: value,
) -> Context:
    """Load the layers of a place through one batch. `toolset` is the gateway's answer, `at` an aware time.

    `shorten` gives ids of rows their handles; the context's names have ids. What a failed entry should have loaded is
    missing, and its layer says so. Raises what `batch` raises.
    """
    loaded = reads.load(batch, place, at=at)
    results = replace(loaded, by_name=shorten(dict(loaded.by_name)))
    tools = ToolNames(toolset)
    zone = row_lines.find_zone((results.get_row(reads.PROFILE) or {}).get("time_zone"))
    now = at.astimezone(zone)
    system = system_prompt.build_system_prompt(tools, str(toolset.get("prompt") or ""), now=now)
    location = token_budget.render_to_fit(
        lambda size: _describe_location(place, results, tools, size, zone, now), SIZES, budget=budgets.LOCATION
    )
    built = (
        Layer.of_text(SYSTEM, system, budget=budgets.SYSTEM),
        place_views.build_profile(results, tools, has_hours=place.type != places.CALENDAR, subject=subject),
        Layer.of_text(LOCATION, location, budget=budgets.LOCATION),
        related.build_related(results, tools, place=place.type, zone=zone, now=now),
    )
    return Context(built, loaded.names, layers.measure_tools(toolset), zone)


def _describe_location(
    place: Place, results: Results, tools: ToolNames, size: Size, zone: ZoneInfo, now: datetime
) -> str:
    text = _describe_place(place, results, tools, size, zone, now)
    return text if size.has_ids else f"{text}\n{NO_IDS}"


def _describe_place(place: Place, results: Results, tools: ToolNames, size: Size, zone: ZoneInfo, now: datetime) -> str:
    if place.type == places.PROJECT:
        return place_views.describe_project(results, tools, size, zone)
    if place.type == places.TASK:
        return place_views.describe_task(results, tools, size, zone)
    if place.type == places.CALENDAR:
        return place_views.describe_calendar(results, tools, size, zone)
    return place_views.describe_overview(results, tools, size, zone, now=now)
