"""The overview and usage guide ops: prompt sections are edited in the draft, published and rolled back."""

from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from registry.catalog import cache
from registry.models import PromptSection, Release
from registry.releases import lifecycle, publishing, stored_releases
from tests.support.clients.api import Api
from tests.support.loops import for_each

PURPOSE = {"prompt": "overview", "name": "purpose"}


def publish_draft() -> Release:
    """Publish the draft and refresh the catalog, because a test's transaction never commits."""
    release = publishing.publish_draft(note="Edit", by="tests", at=timezone.now())
    cache.refresh_live()
    return release


def read_purpose(api: Api) -> str:
    text: str = api.exec("util.buildos.overview", {"section": "purpose"})["result"]["sections"][0]["text"]
    return text


def test_guides_are_returned_whole_and_by_section(api: Api) -> None:
    overview = api.exec("get_buildos_overview")["result"]
    guide_part = api.exec("util.buildos.usage_guide", {"topic": "ids"})["result"]

    names = ["purpose", "projects", "links", "calendar", "access", "limits"]
    assert [each["name"] for each in overview["sections"]] == names
    assert all(set(each) == {"name", "title", "text"} for each in overview["sections"])
    assert overview["message"] == f"6 sections: {', '.join(names)}."
    assert [each["title"] for each in guide_part["sections"]] == ["Ids"]


def test_unknown_section_error_lists_the_sections(api: Api) -> None:
    error = api.exec("util.buildos.usage_guide", {"section": "purpose"})["error"]

    assert (error["code"], error["details"]["field_errors"][0]["path"]) == ("VALIDATION_ERROR", "/section")
    assert "finding, reading, ids, writing, errors, sources" in error["message"]


def test_edited_section_is_served_after_publishing_until_rollback(api: Api) -> None:
    before, first = read_purpose(api), stored_releases.get_live_release()
    assert first is not None
    PromptSection.objects.filter(**PURPOSE).update(text="Edited.")
    assert read_purpose(api) == before  # the draft is not served

    second = publish_draft()
    assert read_purpose(api) == "Edited."
    assert second.version != first.version

    lifecycle.activate_release(version=first.version, note="Back", by="tests", at=timezone.now())
    cache.refresh_live()
    assert read_purpose(api) == before


def test_section_is_edited_and_published_in_the_admin(api: Api, admin_client: Client) -> None:
    row = PromptSection.objects.get(**PURPOSE)
    change = reverse("admin:registry_promptsection_change", args=[row.pk])
    form: dict[str, Any] = {"title": "What it is", "text": "Ours.", "position": 25, "status": "active", **PURPOSE}

    stamp = admin_client.get(change).context["adminform"].form["seen"].value()
    saved = admin_client.post(change, form | {"seen": stamp})
    review = reverse("admin:registry_release_review")
    seen_version = admin_client.get(review).context["review"].seen
    admin_client.post(review, {"seen": seen_version, "note": "Ours"})
    cache.refresh_live()

    assert saved.status_code == 302
    assert Release.objects.count() == 2
    sections = api.exec("util.buildos.overview")["result"]["sections"]
    assert sections[1] == {"name": "purpose", "title": "What it is", "text": "Ours."}


@for_each("field", ["title", "text"])
def test_admin_refuses_a_blank_section(api: Api, admin_client: Client, field: str) -> None:
    row = PromptSection.objects.get(**PURPOSE)
    form: dict[str, Any] = {"title": "T", "text": "T", "position": 1, "status": "active", **PURPOSE} | {field: " "}

    page = admin_client.post(reverse("admin:registry_promptsection_change", args=[row.pk]), form)

    assert page.status_code == 200
    assert field in page.context["adminform"].form.errors
