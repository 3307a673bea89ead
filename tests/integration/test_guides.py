"""What the product says of itself, from the draft to the model: rows, a release, the answer, and back."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from registry.catalog import model
from registry.models import PromptSection, Release
from registry.releases import publishing
from tests.support.api import Api

PURPOSE = {"prompt": "overview", "name": "purpose"}


def publish() -> Release:
    """Publish the draft and follow: a test's transaction never commits."""
    release = publishing.publish_draft(note="Edit", by="tests", at=timezone.now())
    model.refresh_live()
    return release


def purpose(api: Api) -> str:
    text: str = api.exec("util.buildos.overview", {"section": "purpose"})["result"]["sections"][0]["text"]
    return text


def test_the_guides_are_read_whole_and_by_section(api: Api) -> None:
    whole = api.exec("get_buildos_overview")["result"]
    one = api.exec("util.buildos.usage_guide", {"topic": "ids"})["result"]

    names = ["purpose", "projects", "links", "calendar", "access", "limits"]
    assert [each["name"] for each in whole["sections"]] == names
    assert all(set(each) == {"name", "title", "text"} for each in whole["sections"])
    assert whole["message"] == f"6 sections: {', '.join(names)}."
    assert [each["title"] for each in one["sections"]] == ["Ids"]


def test_an_unknown_section_is_refused_with_those_that_exist(api: Api) -> None:
    error = api.exec("util.buildos.usage_guide", {"section": "purpose"})["error"]

    assert (error["code"], error["details"]["field_errors"][0]["path"]) == ("VALIDATION_ERROR", "/section")
    assert "finding, reading, ids, writing, errors, sources" in error["message"]


def test_an_edit_reaches_the_model_with_a_release_and_leaves_with_it(api: Api) -> None:
    before, first = purpose(api), publishing.get_live_release()
    assert first is not None
    PromptSection.objects.filter(**PURPOSE).update(text="Edited.")
    assert purpose(api) == before  # the draft is nobody's to read

    second = publish()
    assert purpose(api) == "Edited."
    assert second.version != first.version

    publishing.activate_release(version=first.version, note="Back", by="tests", at=timezone.now())
    model.refresh_live()
    assert purpose(api) == before


def test_a_retired_section_is_left_out_once_published(api: Api) -> None:
    PromptSection.objects.filter(**PURPOSE).update(status="retired")
    publish()

    names = [each["name"] for each in api.exec("util.buildos.overview")["result"]["sections"]]

    assert names == ["projects", "links", "calendar", "access", "limits"]


def test_a_person_edits_a_section_and_publishes_it_in_the_admin(api: Api, admin_client: Client) -> None:
    row = PromptSection.objects.get(**PURPOSE)
    change = reverse("admin:registry_promptsection_change", args=[row.pk])
    form: dict[str, Any] = {"title": "What it is", "text": "Ours.", "position": 25, "status": "active", **PURPOSE}

    seen = admin_client.get(change).context["adminform"].form["seen"].value()
    saved = admin_client.post(change, form | {"seen": seen})
    review = reverse("admin:registry_release_review")
    looked_at = admin_client.get(review).context["review"].seen
    admin_client.post(review, {"seen": looked_at, "note": "Ours"})
    model.refresh_live()

    assert saved.status_code == 302
    assert Release.objects.count() == 2
    sections = api.exec("util.buildos.overview")["result"]["sections"]
    assert sections[1] == {"name": "purpose", "title": "What it is", "text": "Ours."}


@pytest.mark.parametrize("field", ["title", "text"])
def test_the_admin_refuses_a_section_that_says_nothing(api: Api, admin_client: Client, field: str) -> None:
    row = PromptSection.objects.get(**PURPOSE)
    form: dict[str, Any] = {"title": "T", "text": "T", "position": 1, "status": "active", **PURPOSE} | {field: " "}

    page = admin_client.post(reverse("admin:registry_promptsection_change", args=[row.pk]), form)

    assert page.status_code == 200
    assert field in page.context["adminform"].form.errors
