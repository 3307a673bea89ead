"""From traffic to a draft edit: the report of misses, eval cases made of them, and prefilled edits of the draft."""

from html import unescape
from typing import Any

import pytest
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.events import event_log
from analytics.events.models import OperationEvent
from analytics.rollups import rollup_job
from audit.models import AuditEntry
from console.evals import op_edit
from registry.models import EvalCase, Op, Release
from tests.support.clients.api import Api
from tests.support.console import role_matrix
from tests.support.console.staff import sign_in
from tests.support.rows.analytics_rows import store_contents

pytestmark = pytest.mark.django_db

REPORT = "/admin/reports/misses/"
WORDS = "snooze <b>it</b> for a week"
LIST, UPDATE = "onto.task.list", "onto.task.update"


@pytest.fixture(autouse=True)
def _stored_content(db: None) -> None:
    store_contents(7)


def make_misses(api: Api) -> None:
    """Make calls which miss, and count them."""
    for number in (1, 2, 3):
        headers = {"Gateway_Session": "s", "Gateway_Turn": f"t{number}"}
        api.post("help", {"query": WORDS}, **headers)
        api.post("exec", {"op": "onto.goal.get", "args": {"goal_id": "none"}}, **headers)
        api.post("exec", {"op": LIST, "args": {"limits": 3}}, **headers)
        api.post("exec", {"op": LIST, "args": {"limit": "many"}}, **headers)
        api.post("exec", {"op": LIST, "args": {"limit": 3}}, **headers)
        api.post("exec", {"op": "onto.task.lisst"}, **headers)
    event_log.flush()
    rollup_job.run_rollup(timezone.now())


@pytest.fixture
def misses(api: Api) -> None:
    make_misses(api)


def read_links(http: HttpClient, table: str, **query: str) -> dict[str, str]:
    """Return {label: URL} of the links in the last column of a table's first row; of all rows about LIST for errors."""
    page: Any = http.get(REPORT, query)
    [report_table] = [each for each in page.context["report"].tables if each.name == table]
    about_list = [each for each in report_table.rows if each[0].value == LIST]
    html = "".join(
        str(row[-1].html or "") for row in (about_list if table == "field_errors" else report_table.rows[:1])
    )
    parts = [part.partition('">') for part in html.split('<a href="')[1:]]
    return {label.partition("<")[0]: unescape(url) for url, _, label in parts}


@pytest.mark.both_databases
def test_report_lists_what_was_missed_with_its_release(misses: None, admin_client: HttpClient) -> None:
    page: Any = admin_client.get(REPORT)

    tables = page.context["report"].tables
    rows = {each.name: [[str(cell.value) for cell in row] for row in each.rows] for each in tables}
    release = Release.objects.get(pk=OperationEvent.objects.values_list("release", flat=True)[0]).short_name
    assert rows["searches"][0][:4] == [WORDS, "3", LIST, release]
    assert rows["choices"][0][:5] == ["onto.goal.get", LIST, "3", "1.0", release]
    assert [LIST, "limits", "unknown argument", "3", release] in [row[:5] for row in rows["field_errors"]]
    assert rows["names"][0][:3] == ["onto.task.lisst", "3", release]
    assert "<b>it</b>" not in page.content.decode()


def test_both_counts_of_searches_say_what_they_count(misses: None, admin_client: HttpClient) -> None:
    page: Any = admin_client.get(REPORT)

    report = page.context["report"]
    assert [(each.title, each.value, each.of) for each in report.figures] == [
        ("Searches that found nothing", "0", "of 3 searches in the period")
    ]
    assert report.tables[0].title == "Searches without a useful result: 3 in the 3 turns"


def test_words_are_neither_stored_nor_shown_unless_content_is(api: Api, admin_client: HttpClient) -> None:
    store_contents(0)
    make_misses(api)

    page = admin_client.get(REPORT).content.decode()

    assert not OperationEvent.objects.filter(content__isnull=False).exists()
    assert "They are not kept." in page
    assert "snooze" not in page


def test_a_search_becomes_a_case_and_its_words_are_in_no_url(misses: None, admin_client: HttpClient) -> None:
    link = read_links(admin_client, "searches")["Eval case"]

    form: Any = admin_client.get(link).context["adminform"].form

    assert "snooze" not in link
    assert form["request"].value() == WORDS
    assert form["op"].value() == Op.objects.get(op=LIST).pk
    assert form["note"].value().startswith("Searched 3 times without a useful result")


def test_a_keyword_is_added_after_its_effect_on_eval_cases_was_shown(misses: None, admin_client: HttpClient) -> None:
    EvalCase.objects.create(request=WORDS, op=LIST)
    link = read_links(admin_client, "searches")["Keyword"]

    page: Any = admin_client.get(link)
    text = " ".join(page.content.decode().split())
    values = {field.html_name: field.value() or "" for field in page.context["form"]}
    saved = admin_client.post(reverse("admin:registry_op_edit"), values | {"save": "1"})

    assert "1 case won, 0 lost." in text
    assert WORDS in Op.objects.get(op=LIST).keywords
    assert saved.headers["Location"] == reverse("admin:registry_release_review")
    change = AuditEntry.objects.get(kind="op", name=LIST)
    assert change.note.startswith("Searched 3 times")
    assert list(change.changes) == ["keywords"]


def test_each_miss_prefills_its_edit(misses: None, admin_client: HttpClient) -> None:
    links = {
        **read_links(admin_client, "names"),
        **{label: url for label, url in read_links(admin_client, "field_errors").items() if label != "Rule"},
        **read_links(admin_client, "choices"),
    }
    texts = {}
    summary = Op.objects.get(op=LIST).summary
    purpose = summary[0].lower() + summary[1:]
    for label in ("Alias", "Argument alias", "Rule", "Example"):
        page: Any = admin_client.get(links[label])
        form = page.context["form"]
        assert not form.errors, label
        texts[label] = (form["edit"].value(), form["text"].value(), form["argument"].value() or "")
        assert "Effect on the eval cases" in page.content.decode(), label
        assert form["text"].label == op_edit.TEXT_LABELS[form["edit"].value()]

    assert texts == {
        "Alias": ("alias", "onto.task.lisst", ""),
        "Argument alias": ("argument_alias", "limits", "limit"),
        "Rule": ("dont", f"Never use it to {purpose}; use {LIST}.", ""),
        "Example": ("example", '{"limit": 3}', ""),
    }


def test_an_edit_is_not_saved_before_it_is_sent_or_if_it_breaks_the_draft(
    admin_client: HttpClient, live_catalog: Any
) -> None:
    op = Op.objects.get(op=LIST)
    url = reverse("admin:registry_op_edit")
    taken = {"op": op.pk, "edit": "alias", "text": UPDATE}
    bad_example = {"op": op.pk, "edit": "example", "text": '{"limit": "many"}'}

    looked = admin_client.post(url, {"op": op.pk, "edit": "keyword", "text": "procrastinate"})
    assert "procrastinate" in looked.content.decode()
    for values in (taken, bad_example):
        page = admin_client.post(url, values | {"save": "1"})
        assert page.status_code == 200, values
        assert page.context["form"].non_field_errors(), values
    assert not AuditEntry.objects.filter(name=LIST).exists()


def test_a_fresh_form_opens_without_errors(admin_client: HttpClient, live_catalog: Any) -> None:
    for query in (
        "",
        "?edit=alias&text=x.y",
        f"?op={LIST}",
        f"?op={LIST}&edit=argument_alias&text=x",
        "?op=onto.gone&text=x",
        "?event=x",
        "?event=99",
    ):
        page: Any = admin_client.get(f"{reverse('admin:registry_op_edit')}{query}")
        assert page.status_code == 200
        assert not page.context["form"].errors, query


def test_who_may_not_edit_sees_no_links(misses: None, client: HttpClient) -> None:
    client.force_login(role_matrix.create_user_with_role("P"))

    page: Any = client.get(REPORT)

    assert page.status_code == 200
    columns = {column.title for table in page.context["report"].tables for column in table.columns}
    assert "Make" not in columns
    assert "Turn each into an eval case" not in page.content.decode()
    assert reverse("admin:registry_op_edit") not in page.content.decode()


def test_stored_words_are_prefilled_only_for_who_may_see_events(misses: None) -> None:
    client = sign_in("writer", permissions=["change_op", "view_op"])
    event = OperationEvent.objects.filter(type="search").values_list("pk", flat=True)[0]

    page: Any = client.get(f"{reverse('admin:registry_op_edit')}?op={LIST}&edit=keyword&event={event}")

    assert page.status_code == 200
    assert "snooze" not in page.content.decode()
