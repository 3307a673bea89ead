"""The overview and usage guide ops: prompt sections are edited in the draft, published and rolled back."""

from django.utils import timezone

from registry.catalog import cache
from registry.models import PromptSection
from registry.releases import lifecycle, stored_releases
from tests.support.clients.api import Api
from tests.support.rows.catalog_fixture import publish_draft

PURPOSE = {"prompt": "overview", "name": "purpose"}


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
