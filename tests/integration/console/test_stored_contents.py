"""Stored contents: the page that says what events keep, who may see it, and that it holds in every process."""

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Group, User
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.events import event_log, stored_contents
from analytics.events.models import OperationEvent
from analytics.events.stored_contents import ALL_PATTERNS, LOCAL_DAYS, StoredContents
from audit.models import AuditEntry
from tests.support.clients.api import Api
from tests.support.console.admin_pages import read_text
from tests.support.rows.analytics_rows import store_contents

pytestmark = pytest.mark.django_db
WORDS = "canary yellow"


def save(http: HttpClient, **values: Any) -> Any:
    url = reverse("admin:analytics_storedcontents_change", args=[StoredContents.PK])
    return http.post(url, {"days": 7, "seen_by": "viewers", "redacted": list(ALL_PATTERNS), **values}, follow=True)


def test_the_list_says_in_words_what_is_kept_and_redacted(admin_client: HttpClient) -> None:
    store_contents(7)
    StoredContents.objects.update(redacted=["e-mail", "card"])

    page = read_text(admin_client.get(reverse("admin:analytics_storedcontents_changelist")))

    assert "kept for 7 days" in page
    assert "e-mail addresses, card numbers" in page


@pytest.mark.both_databases
def test_an_admin_lets_events_keep_contents_and_sees_them(api: Api, admin_client: HttpClient) -> None:
    assert "They are not kept." in _open_event(api, admin_client)

    save(admin_client)
    stored_contents.refresh_rules()

    assert WORDS in _open_event(api, admin_client)
    entry = AuditEntry.objects.get(kind="contents")
    assert entry.changes == {"days": [0, 7]}


@pytest.mark.both_databases
@pytest.mark.parametrize("chosen", [["card"], []])
def test_calls_redact_only_what_was_chosen(admin_client: HttpClient, chosen: list[str]) -> None:
    save(admin_client, redacted=chosen)
    stored_contents.refresh_rules()

    assert list(stored_contents.get_rules().redacted) == chosen


def test_the_variable_is_the_upper_limit(api: Api, admin_client: HttpClient, settings: Any) -> None:
    settings.GATEWAY_CONTENT_DAYS = 10
    assert "Enter at most 10" in read_text(save(admin_client, days=11))
    store_contents(30)

    assert stored_contents.get_rules().days == 10
    settings.GATEWAY_CONTENT_DAYS = 0
    assert stored_contents.get_rules().days == 0


def test_contents_can_be_for_those_who_manage_them(api: Api, client: HttpClient, admin_client: HttpClient) -> None:
    store_contents(7, seen_by="managers")
    editor = User.objects.create_user("ed", is_staff=True)
    editor.groups.add(Group.objects.get(name="Editor"))
    client.force_login(editor)

    assert WORDS in _open_event(api, admin_client)
    page = _open_event(api, client)
    assert WORDS not in page
    assert "Only people who can change this page may see" in page


def test_a_local_gateway_begins_with_seven_days_unless_somebody_chose(admin_client: HttpClient) -> None:
    stored_contents.begin_locally(by="start", at=timezone.now())
    assert StoredContents.objects.get().days == min(LOCAL_DAYS, django_settings.GATEWAY_CONTENT_DAYS) == 7

    save(admin_client, days=0)
    stored_contents.begin_locally(by="start", at=timezone.now())

    assert StoredContents.objects.get().days == 0


def _open_event(api: Api, http: HttpClient) -> str:
    api.exec("onto.task.search", {"query": WORDS})
    event_log.flush()
    event = OperationEvent.objects.latest("id")
    return read_text(http.get(reverse("admin:analytics_operationevent_change", args=[event.pk])))
