"""Ops in the admin: how they are edited, and what is refused in their form."""

import csv
import io
import re

import pytest
from django.test import Client
from django.utils.html import escape

from analytics.models import AuditEntry
from registry.models import Op
from tests.support.admin_pages import act, form_of, save, url
from tests.support.copy_rows import make_op

pytestmark = pytest.mark.django_db


def test_ops_are_downloaded_as_a_table(admin_client: Client) -> None:
    chosen, _ = make_op(summary="=1+1"), make_op("onto.task.other")

    response, _ = act(admin_client, Op, "export_csv", chosen)

    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert [(row["op"], row["summary"]) for row in rows] == [("onto.task.add", "'=1+1")]


def test_a_form_that_publishing_would_refuse_says_so(admin_client: Client) -> None:
    page = admin_client.post(url(Op, "add"), {"op": "a.b", "parameters_schema": '{"type": "array"}'}).content.decode()

    assert "The schema must be an object" in page
    assert not Op.objects.exists()


@pytest.mark.parametrize(
    "text", ['{"type": "object", "type": "object"}', '{"a": NaN}', '"\\ud800"', '"\\u0000"', "[" * 40 + "]" * 40, "{"]
)
def test_json_that_could_not_be_kept_is_refused_in_the_form(admin_client: Client, text: str) -> None:
    response = admin_client.post(url(Op, "add"), {"op": "a.b", "parameters_schema": text, "contexts": "[]"})

    assert response.status_code == 200
    assert "parameters_schema" in response.context["adminform"].form.errors
    assert "contexts" not in response.context["adminform"].form.errors


def test_json_is_shown_as_a_person_edits_it(admin_client: Client) -> None:
    op = make_op(keywords=["Größe"])

    page = admin_client.get(url(Op, "change", op.pk)).content.decode()

    assert "Größe" in page
    assert "{\n  &quot;" in page


def test_json_that_is_emptied_says_nothing(admin_client: Client) -> None:
    op = make_op()
    sent = form_of(admin_client.get(url(Op, "change", op.pk)))
    emptied = dict.fromkeys(("contexts", "keywords", "argument_aliases", "display_only"), "")

    assert save(admin_client, op, sent | emptied | {"examples-0-args": ""}).status_code == 200  # the op needs a title
    response = save(admin_client, op, sent | emptied)

    op.refresh_from_db()
    assert response.status_code == 302
    assert (op.contexts, op.keywords, op.argument_aliases, op.display_only) == ([], [], {}, [])


def test_json_is_shown_as_it_was_typed_while_the_form_is_not_saved(admin_client: Client) -> None:
    op = make_op()
    sent = form_of(admin_client.get(url(Op, "change", op.pk)))
    typed = '{ "type": "object",\n    "properties": {} }'

    page = save(admin_client, op, sent | {"parameters_schema": typed, "summary": ""}).content.decode()

    assert escape(typed) in page


def test_sentences_are_edited_in_lines_as_long_as_they(admin_client: Client) -> None:
    content = admin_client.get(url(Op, "change", make_op().pk)).content.decode()

    assert re.search(r'name="summary"[^>]*class="[^"]*desk-line"', content)


def test_a_schema_comes_back_as_it_was_typed(admin_client: Client) -> None:
    op = make_op()
    typed = '{"type": "object",\n    "properties": {"title": {"type": "string"},\n\t\t"a": {}}}'
    sent = form_of(admin_client.get(url(Op, "change", op.pk)))

    response = save(admin_client, op, sent | {"parameters_schema": typed.replace("\n", "\r\n")})
    again = form_of(admin_client.get(url(Op, "change", op.pk)))

    assert response.status_code == 302
    assert again["parameters_schema"] == typed
    assert save(admin_client, op, again).status_code == 302
    assert AuditEntry.objects.count() == 1


def test_a_schema_that_came_from_elsewhere_since_is_shown_as_it_is(admin_client: Client) -> None:
    op = make_op()
    sent = form_of(admin_client.get(url(Op, "change", op.pk)))
    save(admin_client, op, sent | {"parameters_schema": '{"type":"object","properties":{"title":{"default":1}}}'})
    schema = {"type": "object", "properties": {"title": {"default": True}}}
    Op.objects.update(parameters_schema=schema)

    shown = form_of(admin_client.get(url(Op, "change", op.pk)))["parameters_schema"]

    assert shown.startswith('{\n  "type": "object"')
    assert '"default": true' in shown
