"""The chat's context of the demo workspace, loaded through the API."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.utils import timezone

from chat.context import budgets
from chat.context.layers import Place
from chat.context.service import Context, load_context
from core.text import token_budget
from tests.support.clients.api import Api
from tests.support.loops import for_each

pytestmark = pytest.mark.django_db

WEBSITE = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"
HOMEPAGE_COPY = "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"
PLACES = {
    "project": Place("project", project_id=WEBSITE),
    "task": Place("task", project_id=WEBSITE, entity_id=HOMEPAGE_COPY),
    "calendar": Place("calendar"),
    "global": Place("global"),
}
SURFACES = ("gateway", "legacy", "hybrid", "discovery", "native")

MAX_INITIAL_TOKENS = 1_500  # of all layers at first
MAX_SHARE_OF_COMPLETE_DATA = 0.3


def _load(api: Api, place: Place, *, surface: str = "gateway", format: str = "openai") -> Context:
    def batch(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        response = api.post("batch", {"ops": list(entries)})
        assert response.status_code == 200, response.content
        results: list[dict[str, Any]] = response.json()["results"]
        return results

    toolset = api.post("toolset", {"message": "hello", "format": format, "surface": surface}).json()
    return load_context(batch, place=place, toolset=toolset, at=timezone.now())


def _count_tokens(context: Context) -> int:
    return sum(layer.tokens for layer in context.layers)


def _get_complete_data(api: Api) -> list[dict[str, Any]]:
    """Return the project with everything that a get includes, and each of its tasks, notes and plans by get."""
    includes = dict.fromkeys(("include_tasks", "include_notes", "include_brain_dumps"), True)
    results = [api.exec("onto.project.get", {"project_id": WEBSITE, **includes})["result"]]
    for kind, filters in (("task", {}), ("document", {"type_key": "document.note"}), ("plan", {})):
        rows = api.exec(f"onto.{kind}.list", {"project_id": WEBSITE, "limit": 50, **filters})["result"]
        assert rows["total"] == len(rows[f"{kind}s"]) > 0
        results += [api.exec(f"onto.{kind}.get", {f"{kind}_id": row["id"]})["result"] for row in rows[f"{kind}s"]]
    return results


@for_each("surface", SURFACES)
def test_context_of_each_place_is_within_its_budgets(api: Api, surface: str) -> None:
    format = "anthropic" if surface == "native" else "openai"
    for name, place in PLACES.items():
        context = _load(api, place, surface=surface, format=format)
        assert _count_tokens(context) < MAX_INITIAL_TOKENS, name
        assert [layer for layer in context.layers if layer.is_cut or layer.tokens > layer.budget] == []
        assert "could not be loaded" not in context.system_message
        tools = context.describe()[-1]
        assert tools["name"] == "tools"
        assert surface != "gateway" or 0 < tools["tokens"] <= tools["budget"] == budgets.GATEWAY_TOOLS


def test_context_is_a_fraction_of_the_complete_data(api: Api) -> None:
    complete = token_budget.count(json.dumps(_get_complete_data(api), ensure_ascii=False, separators=(",", ":")))
    assert _count_tokens(_load(api, PLACES["project"])) < MAX_SHARE_OF_COMPLETE_DATA * complete


FACTS = {
    "project": (
        "Website relaunch",
        "active, 17% complete",
        "20 active, 4 done, 24 total",
        "- Next milestone: ",
        "- Note: ",
        "- [1] Draft the homepage copy (",
    ),
    "task": (
        "State: in_progress, priority 1",
        f"Project: Website relaunch {WEBSITE}",
        "document Tone guide",
        "[100 of 184",
    ),
    "calendar": ("Working hours: mon-thu 09:00-12:30", "Water the plants (again ", "Due: Measure the loading time"),
    # The plants are watered every day, so also today.
    "global": ("- Kitchen renovation (active, 14 open of 18 tasks)", "- 18:00-19:00 Water the plants"),
}


@for_each("name, facts", FACTS.items())
def test_context_of_a_place_has_its_facts(api: Api, name: str, facts: tuple[str, ...]) -> None:
    context = _load(api, PLACES[name])
    text = context.system_message
    for fact in facts:
        assert fact in text
    assert name == "calendar" or text.count("\n- [") == 5  # tasks; of a task, those beside it
    assert name != "project" or context.names[HOMEPAGE_COPY] == "Draft the homepage copy"
    assert name != "task" or context.names[WEBSITE] == "Website relaunch"
