"""The page of the vocabulary: what each entry stands for, where that is, and what cannot be saved."""

from typing import Any

import pytest
from django.test import Client

from registry.models import Release, Vocabulary
from registry.releases import publishing
from tests.support.console.admin_pages import get_registry_url, read_form
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db

SCALE = {"type": "object", "properties": {"priority": {"type": "integer", "minimum": 1, "maximum": 5}}}
URGENT = {"kind": "value", "argument": "priority", "ops": "onto.*", "meaning": "1", "words": ["urgent"]}


@pytest.fixture
def live(published: Release) -> None:
    job = {"tool_name": "list_jobs", "entity": "job", "action": "list", "parameters_schema": SCALE}
    make_op("onto.task.jobs", **job, argument_aliases={})
    publishing.publish_draft(note="Jobs", by="ann", at=published.created_at, accepted="Test")


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"kind": "entity", "meaning": "job", "words": ["task"]}, "onto.task.jobs"),
        ({"kind": "action", "meaning": "list", "words": ["browse"]}, "onto.task.jobs"),
        ({"kind": "argument", "meaning": "priority", "words": ["rank"]}, "onto.task.jobs priority"),
        (URGENT, "onto.task.jobs priority"),
        (URGENT | {"meaning": "9"}, "Nothing in the live release."),
        (URGENT | {"ops": "shop.*"}, "Nothing in the live release."),
    ],
)
def test_page_shows_where_the_meaning_is_found(admin_client: Client, entry: dict[str, Any], place: str) -> None:
    row = Vocabulary.objects.create(**entry)

    page = admin_client.get(get_registry_url(Vocabulary, "change", row.pk)).content.decode()
    listing = admin_client.get(get_registry_url(Vocabulary, "changelist"), {"q": entry["words"][0]}).content.decode()

    assert place in page
    assert entry["words"][0] in listing


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"argument": ""}, "Name the argument that takes this value."),
        ({"kind": "entity"}, "Only a value has an argument and ops. Leave both empty."),
        ({"words": "w" * 61}, "61 characters; the limit is 60."),
        ({"words": "\n".join(f"word{at}" for at in range(101))}, "101 words; the limit is 100."),
        ({"meaning": "m" * 101}, "at most 100 characters"),
        ({"argument": "a" * 60, "meaning": "b" * 60, "ops": "c" * 80}, "The entry has a name of 208 characters"),
        ({"meaning": "2"}, "There is an entry for value priority 2 onto.* already. Add the words to it."),
        ({"words": "Very urgent"}, "Write each word once, in lower case with underscores"),
    ],
)
def test_entry_that_no_call_could_use_is_refused(admin_client: Client, changed: dict[str, str], message: str) -> None:
    row = Vocabulary.objects.create(**URGENT)
    Vocabulary.objects.create(**URGENT | {"meaning": "2", "words": []})
    url = get_registry_url(Vocabulary, "change", row.pk)
    form = read_form(admin_client.get(url))

    page = admin_client.post(url, form | changed).content.decode()

    assert message in page
    assert Vocabulary.objects.get(pk=row.pk).words == ["urgent"]


def test_first_entry_that_is_added_comes_with_the_shipped_ones(admin_client: Client) -> None:
    url = get_registry_url(Vocabulary, "add")
    form = read_form(admin_client.get(url))

    admin_client.post(url, form | {"kind": "entity", "meaning": "job", "words": "gig"})

    names = {(row.kind, row.meaning) for row in Vocabulary.objects.all()}
    assert {("entity", "job"), ("entity", "task")} <= names


def test_entry_without_words_can_be_saved(admin_client: Client) -> None:
    row = Vocabulary.objects.create(**URGENT, shipped=URGENT)
    url = get_registry_url(Vocabulary, "change", row.pk)

    admin_client.post(url, read_form(admin_client.get(url)) | {"words": ""})

    assert Vocabulary.objects.get().words == []


@pytest.mark.both_databases
def test_search_finds_words_with_letters_of_other_languages(admin_client: Client) -> None:
    Vocabulary.objects.create(kind="entity", meaning="task", words=["tâche", "задача"])

    for word in ("tâche", "задача"):
        listing = admin_client.get(get_registry_url(Vocabulary, "changelist"), {"q": word})
        assert "tâche, задача" in listing.content.decode()
