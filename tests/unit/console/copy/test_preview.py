"""The preview of an op's page: what it returns, who may call it, and that it changes nothing."""

import html
import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from analytics.rollups.models import OpDaily
from console.copy.preview import format_cost
from core.admin import page_parts
from registry.models import Group, Op
from registry.releases import publishing
from registry.releases.preview import AnswerPreview
from tests.support.console.admin_pages import get_registry_url, open_form, read_form
from tests.support.loops import for_each
from tests.support.rows.copy_rows import AT, make_op

pytestmark = pytest.mark.django_db


def get_part_text(response: HttpResponse, name: str) -> str:
    """Return the text of one part of a preview on one line, without markup."""
    match = re.search(rf'<(\w+) data-part="{name}">(.*?)</\1>\s*(?=<\w+ data-part|\Z)', response.content.decode(), re.S)
    assert match, f"There is no part {name}."
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", match[2])).split())


def request_preview(client: Client, op: Op | None, sent: dict[str, str]) -> HttpResponse:
    if op is None:
        return client.post(reverse("admin:registry_op_add_preview"), sent)
    return client.post(reverse("admin:registry_op_preview", args=[op.pk]), sent)


def preview_with(client: Client, op: Op, changes: dict[str, str]) -> HttpResponse:
    return request_preview(client, op, open_form(client, op) | changes)


def test_preview_shows_the_op_as_typed(admin_client: Client) -> None:
    op = make_op()
    publishing.publish_draft(note="Test", by="tests", at=AT)
    OpDaily.objects.create(day=timezone.now().date(), op=op.op, short_reads=1_000, is_settled=True)

    as_is = request_preview(admin_client, op, open_form(admin_client, op))
    changed = preview_with(admin_client, op, {"summary": "Note <b>one</b> thing"})

    assert get_part_text(as_is, "draft-state") == "live"
    assert get_part_text(as_is, "status").startswith(
        "All checks passed. 1 hint. Short: 37 tokens (same as live). Full: "
    )
    assert get_part_text(as_is, "changes") == "Its help matches the live release."
    assert "(same as live)" in get_part_text(as_is, "short")
    assert '<ul data-part="valid"><li data-input="examples-0-args"></li></ul>' in as_is.content.decode()
    assert get_part_text(changed, "draft-state") == "unsaved"
    Op.objects.update(summary="Note <b>one</b> thing")
    assert get_part_text(request_preview(admin_client, op, open_form(admin_client, op)), "draft-state") == (
        "draft unpublished changes"
    )
    assert "Note <b>one</b> thing" in get_part_text(changed, "short")
    assert re.search(r"compared to live; [+−][\d,]+ tokens a day", get_part_text(changed, "short"))
    assert '{"path":"onto.task.add","type":"op","kind":"write","summary":"Note <b>one</b> thing"' in get_part_text(
        changed, "json"
    )
    assert "Note &lt;b&gt;one" in changed.content.decode()
    assert get_part_text(changed, "changes").startswith("summary Add onto.task.add Note <b>one</b> thing")
    assert "compared to live; not read in the last 7 days" in get_part_text(changed, "full")


def test_preview_links_each_problem_to_its_input(admin_client: Client) -> None:
    op = make_op()
    sent = open_form(admin_client, op) | {"examples-0-args": '{\n  "title": 7\n}', "rules-0-text": "Send when_due."}
    sent |= {"summary": "x " * 150, "successor": "onto.task.lost", "status": "retired", "category": ""}

    response = request_preview(admin_client, op, sent)

    page = response.content.decode()
    result = re.findall(r'<li class="problem problem--([\w-]+)" data-input="([^"]*)" data-line="(\d+)"', page)
    assert result == [
        ("blocks-saving", "summary", "0"),
        ("blocks-saving", "examples-0-args", "2"),
        ("blocks-publishing", "successor", "0"),
        ("hint", "parameters_schema", "0"),
    ]
    assert get_part_text(response, "status").startswith(
        "2 problems to fix before saving. 1 problem to fix before publishing;"
    )
    assert "Ensure this value has at most 200 characters" in get_part_text(response, "problems")
    assert get_part_text(response, "draft-state") == "unsaved"
    assert '<a href="#id_examples-0-args">Example 1, args, line 2</a>' in page
    assert '<ul data-part="valid"></ul>' in page
    assert page.count("<b>") == 0


def test_preview_shows_an_unsaved_op(admin_client: Client) -> None:
    Group.objects.create(path="onto", summary="Ontology")
    page = admin_client.get(get_registry_url(Op, "add"))

    empty = request_preview(admin_client, None, read_form(page))
    begun = request_preview(
        admin_client, None, read_form(page) | {"op": "onto.see", "tool_name": "see", "kind": "read"}
    )
    filled = request_preview(
        admin_client,
        None,
        read_form(page) | {"op": "onto.see", "tool_name": "see", "kind": "read", "summary": "See what is there"},
    )

    assert reverse("admin:registry_op_add_preview") in page.content.decode()
    assert get_part_text(empty, "draft-state") == "unsaved"
    assert get_part_text(empty, "problems") == ""  # nobody has come to these inputs yet
    assert get_part_text(empty, "status").startswith("Still needed: Op, Summary, Tool name, Kind.")
    assert get_part_text(begun, "status").startswith("Still needed: Summary.")
    assert get_part_text(filled, "problems") == (
        "Blocks publishing Connection Cannot run: no connection is set. "
        "Choose a connection that can run it, or retire the op."
    )


@for_each(
    "live, reads, sentence",
    [
        (None, 9.0, "1,200 tokens (not live yet)"),
        (1_200, 9.0, "1,200 tokens (same as live)"),
        (1_000, None, "1,200 tokens (+200 compared to live)"),
        (1_000, 0.0, "1,200 tokens (+200 compared to live; not read in the last 7 days)"),
        (1_000, 0.2, "1,200 tokens (+200 compared to live; +40 tokens a day)"),
        (1_300, 10_000.0, "1,200 tokens (−100 compared to live; −1,000,000 tokens a day, −$2.00)"),
    ],
)
def test_cost_sentence_describes_the_cost(live: int | None, reads: float | None, sentence: str, settings: Any) -> None:
    settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS = Decimal("2.00")

    assert format_cost(AnswerPreview(b"", 1_200, live), reads) == sentence


def test_preview_hints_at_arguments_without_a_description(admin_client: Client) -> None:
    op = make_op()
    form = {"type": "string", "description": "What to do"}
    properties = {"title": form, "color": {"type": "string"}, "size": {"enum": ["s", "l"]}, "day": {"type": "string"}}
    op.parameters_schema = {"type": "object", "properties": properties}
    op.save()

    as_is = request_preview(admin_client, op, open_form(admin_client, op))
    described = preview_with(
        admin_client, op, {"parameters_schema": '{"type": "object", "properties": {"title": {"description": "x"}}}'}
    )

    assert get_part_text(as_is, "problems") == (
        "Hint Parameters schema 2 arguments have no description: color and day. Models have to guess what to send."
    )
    assert get_part_text(as_is, "status").startswith("All checks passed. 1 hint.")
    assert "hint" not in get_part_text(described, "status")


def test_preview_writes_nothing_and_reads_the_draft_once(admin_client: Client) -> None:
    op = make_op()
    sent = open_form(admin_client, op) | {"summary": "New", "rules-0-DELETE": "on", "examples-0-args": "{}"}
    request_preview(admin_client, op, sent)

    with CaptureQueriesContext(connection) as queries:
        assert request_preview(admin_client, op, sent).status_code == 200

    assert [query["sql"] for query in queries if not query["sql"].startswith("SELECT")] == []
    assert len(queries) < 40
    assert not any('FROM "registry_policyrule"' in query["sql"] and "WHERE" not in query["sql"] for query in queries)
    op.refresh_from_db()
    assert op.summary == "Add onto.task.add"


def test_preview_refuses_other_bodies_large_forms_and_missing_ops(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = make_op()
    sent = open_form(admin_client, op)
    for key in (999_999, "x", "9" * 30):
        assert admin_client.post(reverse("admin:registry_op_preview", args=[key]), {}).status_code in (400, 404)
    monkeypatch.setattr(page_parts, "MAX_BYTES", 10)

    assert admin_client.get(reverse("admin:registry_op_preview", args=[op.pk])).status_code == 405
    assert request_preview(admin_client, op, sent).status_code == 413


def test_preview_shows_the_group_as_typed(admin_client: Client) -> None:
    make_op()
    publishing.publish_draft(note="Test", by="tests", at=AT)
    today = {"day": timezone.now().date(), "is_settled": True}
    OpDaily.objects.create(op="onto", list_reads=1_000, **today)
    group = Group.objects.get(path="onto.task")
    sent = open_form(admin_client, group)
    where = reverse("admin:registry_group_preview", args=[group.pk])

    as_is = admin_client.post(where, sent)
    changed = admin_client.post(where, sent | {"summary": "Tasks of the user, and what is to be done about them"})
    long = admin_client.post(where, sent | {"summary": "word " * 30})

    assert get_part_text(as_is, "draft-state") == "live"
    assert get_part_text(as_is, "status") == "All checks passed."
    assert '{"path":"onto.task","summary":"Group onto.task"}' in get_part_text(as_is, "short")
    assert "(+10 compared to live; +10,000 tokens a day, +$0.02)" in get_part_text(changed, "short")
    assert get_part_text(long, "status") == "1 warning."
    assert "Warning Summary 30 words" in get_part_text(long, "problems")
    group.refresh_from_db()
    assert group.summary == "Group onto.task"
