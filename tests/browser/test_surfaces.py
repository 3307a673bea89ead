"""An editor sets up the hybrid and the discovery surface in the console: pins, a discovery name, an agent."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort
from registry.models import Agent, Group, Pin
from tests.support.console.browser_users import BrowserUser
from tests.support.servers.processes import Server, eventually

pytestmark = [pytest.mark.server, pytest.mark.browser]

PREVIEW = "#preview"


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(lambda url: url.split("?")[0].endswith(("/pin/", "/group/", "/agent/")))


def list_tools(server: Server, surface: str) -> list[str]:
    with server.client() as http:
        toolset: dict[str, Any] = http.post("/api/v1/toolset", json={"format": "openai", "surface": surface}).json()
    return [tool["function"]["name"] for tool in toolset["tools"]]


def list_agents(server: Server) -> list[str]:
    with server.client() as http:
        agents = http.post("/api/v1/discover/discover_agents", json={}).json()["agents"]
    return [agent["summary"] for agent in agents]


def test_surfaces_are_edited_previewed_published_and_served(
    server: Server, log_in: Callable[[str], BrowserUser]
) -> None:
    Cohort.objects.create(name="finders", flag_id=FlagKey.SURFACE, variant="discovery", percentage=1)
    editor = log_in("editor").page

    editor.goto(reverse("admin:registry_pin_change", args=[Pin.objects.get(surface="hybrid", context="*").pk]))
    expect(editor.locator(PREVIEW)).to_contain_text("list_calendar_events")
    editor.locator("#id_ops").fill("\n".join(["onto.project.create", "util.profile.get"]))
    editor.locator("#id_max_tokens").fill("300")
    expect(editor.locator(PREVIEW)).to_contain_text("Its ops take")
    editor.locator("#id_ops").fill("\n".join(["util.profile.get", "onto.nothing"]))
    expect(editor.locator(PREVIEW)).to_contain_text("There is no op onto.nothing.")
    editor.locator("#id_ops").fill("\n".join(["util.profile.get"]))
    expect(editor.locator(PREVIEW)).to_contain_text("get_user_profile")
    save(editor)

    editor.goto(reverse("admin:registry_group_change", args=[Group.objects.get(path="onto.task").pk]))
    editor.locator("#id_discovery_name").fill("discover_task_tools")
    editor.locator("#id_discovery_summary").fill("Tasks only")
    expect(editor.locator(PREVIEW)).to_contain_text("discover_task_tools")
    save(editor)

    editor.goto(reverse("admin:registry_agent_change", args=[Agent.objects.get(name="explorer").pk]))
    editor.locator("#id_summary").fill("Digs things up")
    expect(editor.locator(PREVIEW)).to_contain_text("Digs things up")
    save(editor)

    admin = log_in("admin").page
    admin.goto("/admin/")
    expect(admin.locator("#content")).to_contain_text("Surfaces of cohorts: discovery (")
    expect(admin.get_by_role("link", name="4 discovery names")).to_be_visible()
    expect(admin.locator("#content")).to_contain_text("1 group, 1 agent and 1 pin")
    admin.get_by_role("link", name="Review", exact=True).click()
    admin.get_by_label("What changed, and why").fill("Tasks have a discovery tool of their own")
    admin.get_by_role("button", name="Publish to everyone").click()
    admin.wait_for_url("**/admin/registry/release/*")

    eventually(lambda: "discover_task_tools" in list_tools(server, "discovery"), what="the discovery tool")
    eventually(lambda: list_tools(server, "hybrid")[3:] == ["get_user_profile"], what="the pinned tool")
    eventually(lambda: list_agents(server) == ["Digs things up"], what="the summary of the agent")
