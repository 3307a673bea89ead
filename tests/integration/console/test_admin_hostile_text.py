"""What people write in the console is text on every page that shows it: never markup, and nothing is lost."""

from collections.abc import Iterator
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.reports.models import SavedView
from registry.models import Activation, Op, Release, ReviewComment, ReviewRequest, ScheduledPublish, Switch
from tests.support.clients.api import Api
from tests.support.loops import for_each

pytestmark = pytest.mark.usefixtures("short_sidebar")

MARKUP = '"><img src=x onerror=alert(1)>'
HOSTILE = [MARKUP, "{{7*7}}{% nonsense %}", "javascript:alert(1)", "a \u202eb\u2069 \u05d0"]
IDS = ["markup", "template", "link", "direction"]
REVIEW = "admin:registry_release_review"
LONG = "x" * 10_000


class InjectionFinder(HTMLParser):
    """Collects elements that only a hostile text could have added: they run or load what it names."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.injected: list[tuple[str, Any]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        is_link = any((values.get(name) or "").startswith("javascript:") for name in ("href", "src", "action"))
        if values.get("src") == "x" or "onerror" in values or is_link:
            self.injected.append((tag, attrs))


def read_page(http: HttpClient, url: str) -> str:
    response = http.get(url)
    assert response.status_code == 200, url
    page = response.content.decode()
    assert InjectionFinder(page).injected == [], url
    return page


def send(http: HttpClient, name: str, fields: dict[str, str], *args: str) -> str:
    response = http.post(reverse(name, args=args), fields, follow=True)
    assert response.status_code == 200, name
    page = response.content.decode()
    assert InjectionFinder(page).injected == [], name
    return page


@pytest.fixture
def changed(api: Api) -> None:
    Op.objects.filter(op="onto.task.get").update(summary="Get one task, whole")


def read_seen(http: HttpClient) -> str:
    seen: str = http.get(reverse(REVIEW)).context["review"].seen
    return seen


def iterate_pages(release: Release) -> Iterator[str]:
    """Yield the address of every page that shows what a test wrote."""
    for name in tuple(
        """
    index registry_release_review registry_release_changelist registry_activation_changelist
    registry_reviewrequest_changelist registry_scheduledpublish_changelist registry_release_compare
    registry_evalcase_compare registry_switch_changelist audit_auditentry_changelist
    analytics_operationevent_changelist report_ops analytics_savedview_changelist report_comparison
""".split()
    ):
        yield reverse(f"admin:{name}")
    for row in (ReviewRequest, ScheduledPublish, Switch, SavedView):
        meta = row._meta
        for pk in row._default_manager.values_list("pk", flat=True):
            yield reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[pk])
    yield reverse("admin:registry_release_change", args=[release.pk])
    yield reverse("admin:registry_release_name", args=[release.pk])


@pytest.mark.parametrize("text", HOSTILE, ids=IDS)
def test_text_that_people_write_is_shown_as_text_and_kept(changed: None, admin_client: HttpClient, text: str) -> None:
    live = Activation.objects.get(is_live=True).release
    later = (timezone.localtime() + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M")
    has_marks = not text.isprintable()

    send(admin_client, REVIEW, {"step": "ask", "comment": text, "seen": read_seen(admin_client)})
    send(admin_client, REVIEW, {"step": "comment", "comment": text, "about": str(ReviewRequest.objects.get().pk)})
    send(admin_client, REVIEW, {"when": "later", "note": text, "publish_at": later, "seen": read_seen(admin_client)})
    send(admin_client, "admin:registry_release_name", {"name": text, "labels": text}, live.pk)
    for page, query in (("analytics_operationevent_changelist", "ok__exact=0"), ("report_ops", "days=7")):
        fields = {"page": page, "name": text, "query": query, "is_shared": "on"}
        send(admin_client, "admin:saved_view_save", fields)
    op = Op.objects.get(op="onto.goal.get")
    Switch.objects.create(kind="op", name=op.op, reason=text, changed_by=text, changed_at=timezone.now())

    for url in iterate_pages(live):
        read_page(admin_client, url)
    read_page(admin_client, reverse("admin:registry_op_change", args=[op.pk]))
    read_page(admin_client, f"/admin/search/?{urlencode({'s': text})}")
    assert set(ReviewComment.objects.values_list("text", flat=True)) == {text}
    assert ScheduledPublish.objects.get().note == text
    live.refresh_from_db()
    assert (live.name, live.labels) == (("", []) if has_marks else (text, [text]))  # names stand in sentences
    assert SavedView.objects.exists()


@for_each("text", [*HOSTILE, "a\x00b", LONG])
def test_form_of_an_op_by_hand_keeps_what_it_refuses(api: Api, admin_client: HttpClient, text: str) -> None:
    form = {"method": "GET", "argument-TOTAL_FORMS": "1", "argument-INITIAL_FORMS": "0"}
    form |= {"argument-0-place": "query", "argument-0-type": "string"}
    names = ("op", "summary", "description", "address", "schema", "service_name", "base_url")
    names += ("argument-0-name", "argument-0-description", "argument-0-value")
    before = Op.objects.count()

    response = admin_client.post(reverse("admin:op_new"), form | dict.fromkeys(names, text))

    assert response.status_code == 200
    assert InjectionFinder(response.content.decode()).injected == []
    assert response.context["form"].errors
    assert response.context["form"]["summary"].value() == text
    assert Op.objects.count() == before


@for_each("text", ["a\x00b", LONG])
def test_text_that_cannot_be_stored_is_refused_and_stays_in_the_form(
    changed: None, admin_client: HttpClient, text: str
) -> None:
    seen = read_seen(admin_client)
    live = Activation.objects.get(is_live=True).release

    comment = admin_client.post(reverse(REVIEW), {"step": "ask", "comment": text, "seen": seen})
    note = admin_client.post(reverse(REVIEW), {"note": text, "seen": seen})
    name = admin_client.post(reverse("admin:registry_release_name", args=[live.pk]), {"name": text, "labels": text})

    for response, form, field in (
        (comment, "review_form", "comment"),
        (note, "form", "note"),
        (name, "form", "name"),
        (name, "form", "labels"),
    ):
        assert response.status_code == 200
        assert response.context[form].errors[field]
        assert response.context[form][field].value() == text
    assert not ReviewRequest.objects.exists()
