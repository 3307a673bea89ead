"""The words of a release decide what a call means: each release has its own, and an old one those that it had."""

from datetime import UTC, datetime
from typing import Any

import pytest

from console.releases.actions import RestoreAction
from core.text import json_text
from registry.catalog import cache
from registry.models import Release, Vocabulary
from registry.releases import lifecycle, publishing, stored_releases
from tests.support.clients.api import Api
from workspace.demo import DEMO_TASK_ID

AT = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)


def make_live(release: Release) -> None:
    lifecycle.activate_release(version=release.version, note="Now", by="ann", at=AT)
    cache.refresh_live()


def update_task(api: Api, priority: str) -> dict[str, Any]:
    return api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": priority})


def test_new_words_are_known_from_their_release_on_and_only_there(api: Api) -> None:
    shipped = stored_releases.get_live_release()
    Vocabulary.objects.filter(argument="priority", meaning="1").update(words=["blazing"])
    Vocabulary.objects.filter(kind="entity", meaning="task").update(words=["errand"])
    assert not update_task(api, "blazing")["ok"]

    publishing.publish_draft(note="Other words", by="ann", at=AT, accepted="Known")
    cache.refresh_live()
    with_other_words = update_task(api, "blazing")
    guess = api.exec("errand.list")
    without_old_word = update_task(api, "highest")
    make_live(shipped)

    assert "Read priority as 1." in with_other_words["meta"]["warnings"]
    assert guess["error"]["details"]["retry_with"]["op"] == "onto.task.list"
    assert not without_old_word["ok"]
    assert update_task(api, "highest")["ok"]
    assert not update_task(api, "blazing")["ok"]
    assert "retry_with" not in api.exec("errand.list")["error"]["details"]


def test_release_from_before_vocabularies_is_served_as_it_was(api: Api) -> None:
    live = stored_releases.get_live_release()
    old = {key: value for key, value in stored_releases.load_content(live).items() if key != "vocabulary"}
    for op in old["ops"]:
        if "priority" in op["parameters_schema"]["properties"] and op["op"] == "onto.task.update":
            op["parameters_schema"]["properties"]["priority"]["x-aliases"] = {"urgent": 1}
    text = json_text.canonicalize(old)
    release = Release.objects.create(
        version=json_text.hash_canonical_form(text),
        content=text.decode(),
        tokens=live.tokens,
        op_count=live.op_count,
        created_at=AT,
        created_by="ann",
    )
    make_live(release)

    assert "Read priority as 1." in update_task(api, "urgent")["meta"]["warnings"]
    assert not update_task(api, "highest")["ok"]  # its schema has no such word
    assert api.exec("ticket.list")["error"]["details"]["retry_with"]["op"] == "onto.task.list"
    renamed = api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "status": "blocked"})
    assert renamed["error"]["details"]["retry_with"]["args"]["state_key"] == "blocked"
    restoring = RestoreAction().compute_effect(release, "")
    assert restoring
    assert {change.name for change in restoring.changes} == {"onto.task.update"}


@pytest.mark.parametrize("query", ["chore that is late", "meilensteine"])
def test_search_knows_words_for_kinds_of_rows(api: Api, query: str) -> None:
    first = api.help(query=query)["items"][0]["path"]

    assert first.split(".")[1] in ("task", "milestone")
