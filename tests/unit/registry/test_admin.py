"""The draft in the admin: pages answer, publishing says what it did, what services own is read-only."""

import csv
import io
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.contrib.messages import get_messages
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from registry import admin as registry_admin
from registry import releases
from registry.models import Activation, Connection, Group, Op, OpAlias, PromptSection, Release
from tests.unit.registry.entries import schema
from tests.unit.registry.rows import make_op

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
MODELS = [Group, Op, PromptSection, Connection, Release, Activation]


@pytest.fixture
def published() -> Release:
    make_op()
    PromptSection.objects.create(prompt="guide", name="ids", title="Ids", text="Whole.")
    return releases.publish(note="Test", by="tests", at=AT)


def url(model: Any, page: str, *args: Any) -> str:
    return reverse(f"admin:registry_{model._meta.model_name}_{page}", args=args)


def act(client: Client, model: Any, action: str, *chosen: Any) -> tuple[HttpResponse, list[str]]:
    data = {"action": action, "_selected_action": [row.pk for row in chosen]}
    response = client.post(url(model, "changelist"), data)
    return response, [str(message) for message in get_messages(response.wsgi_request)]


@pytest.mark.parametrize("model", MODELS)
def test_lists_searches_and_forms_answer(admin_client: Client, published: Release, model: Any) -> None:
    row = model.objects.first()

    assert admin_client.get(url(model, "changelist")).status_code == 200
    assert admin_client.get(url(model, "changelist"), {"q": "onto"}).status_code == 200
    assert admin_client.get(url(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("model", [Release, Activation])
def test_what_services_own_is_read_only(admin_client: Client, published: Release, model: Any) -> None:
    row = model.objects.first()

    assert admin_client.get(url(model, "add")).status_code == 403
    assert admin_client.post(url(model, "change", row.pk), {"note": "x"}).status_code == 403
    assert admin_client.post(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403


def test_json_is_shown_as_a_person_edits_it(admin_client: Client) -> None:
    op = make_op(keywords=["Größe"])

    page = admin_client.get(url(Op, "change", op.pk)).content.decode()

    assert "Größe" in page
    assert "{\n  &quot;" in page


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


def test_publish_answers_in_a_sentence(admin_client: Client) -> None:
    op = make_op()

    _, first = act(admin_client, Op, "publish_draft", op)
    _, second = act(admin_client, Op, "publish_draft", op)
    Op.objects.filter(pk=op.pk).update(parameters_schema=[])
    _, third = act(admin_client, Op, "publish_draft", op)

    live = releases.live()
    assert live is not None
    assert Activation.objects.get().activated_by == "admin"
    assert first == [f"Release {live} is live with 1 ops."]
    assert second[-1] == "Nothing to publish: the draft is what is live."
    assert third[-1].startswith("onto.task.add, parameters_schema: The schema must be an object")


UNCLEAR = schema(("title",), title={"type": "string"}, amount={"type": "number", "description": "<b>How much</b>"})


def accept(client: Client, op: Op, **said: str) -> HttpResponse:
    """Ask for the page of warnings, then send it with what was said."""
    page, _ = act(client, Op, "publish_draft", op)
    data = {"action": "publish_draft", "_selected_action": "0", "seen": page.context["seen"], **said}
    return client.post(url(Op, "changelist"), data)


def test_new_warnings_are_shown_before_anything_is_published(admin_client: Client) -> None:
    op = make_op(parameters_schema=UNCLEAR)

    response, _ = act(admin_client, Op, "publish_draft", op)

    page = response.content.decode()
    assert releases.live() is None
    assert "Publish with warnings?" in page
    assert "1 new warning" in page
    assert "Nothing says in what amount counts" in page
    assert "errorlist" not in page
    assert all(f'name="{name}"' in page for name in ("seen", "reviewed", "reason", "_selected_action"))


def test_warnings_are_accepted_with_a_tick_and_a_reason(admin_client: Client) -> None:
    op = make_op(parameters_schema=UNCLEAR)

    response = accept(admin_client, op, reviewed="on", reason="The upstream says no more.")

    release = releases.live()
    assert response.status_code == 302
    assert release is not None
    assert release.accepted_because == "The upstream says no more."
    shown = admin_client.get(url(Release, "change", release.pk)).content.decode()
    assert "The upstream says no more." in shown
    assert "Nothing says in what amount counts" in shown


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"reason": "No tick"}, "This field is required."),
        ({"reviewed": "on"}, "This field is required."),
        ({"reviewed": "on", "reason": "  "}, "This field is required."),
        ({"reviewed": "on", "reason": "x" * 501}, "at most 500 characters"),
        ({"reviewed": "on", "reason": "Of another draft", "seen": "0" * 64}, "The draft was edited meanwhile."),
    ],
)
def test_warnings_are_not_accepted_otherwise(admin_client: Client, said: dict[str, str], error: str) -> None:
    response = accept(admin_client, make_op(parameters_schema=UNCLEAR), **said)

    page = response.content.decode()
    assert releases.live() is None
    assert error in page
    assert "Nothing says in what amount counts" in page
    assert f'name="seen" value="{response.context["seen"]}"' in page


def test_thousands_of_warnings_are_counted_and_some_shown(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_admin, "LISTED", 2)
    delays = {f"delay_{letter}": {"type": "number"} for letter in "abc"}
    op = make_op(parameters_schema=schema(("title",), title={"type": "string"}, **delays))

    page, _ = act(admin_client, Op, "publish_draft", op)
    accept(admin_client, op, reviewed="on", reason="Known")

    live = releases.live()
    assert live is not None
    assert len(live.accepted_warnings) == 3
    for html in (page, admin_client.get(url(Release, "change", live.pk))):
        assert html.content.decode().count("Nothing says in what") == 2
    assert " ".join(page.content.decode().split()).count("3 new warnings, of which these are the first 2;") == 1
    assert "… and 1 more." in html.content.decode()


def test_a_selection_that_is_no_row_asks_as_well(admin_client: Client) -> None:
    make_op(parameters_schema=UNCLEAR)

    data = {"action": "publish_draft", "_selected_action": ["<b>"]}
    response = admin_client.post(url(Op, "changelist"), data)

    assert response.status_code in (200, 302, 400)
    assert releases.live() is None
    assert "<b>" not in response.content.decode()


def test_an_older_release_is_made_live_again(admin_client: Client, published: Release) -> None:
    Op.objects.update(summary="Other")
    newer = releases.publish(note="Test", by="tests", at=AT)

    _, told = act(admin_client, Release, "make_live", published)
    _, again = act(admin_client, Release, "make_live", published)
    _, both = act(admin_client, Release, "make_live", published, newer)

    assert told == [f"Release {published} is live."]
    assert again[-1] == f"Release {published} is live already."
    assert both[-1] == "Choose one release."
    assert releases.live() == published


def test_releases_say_which_is_live_and_what_they_are(admin_client: Client, published: Release) -> None:
    Op.objects.update(summary="Other")
    newer = releases.publish(note="Test", by="tests", at=AT)

    listed = admin_client.get(url(Release, "changelist")).content.decode()
    shown = admin_client.get(url(Release, "change", published.pk)).content.decode()

    rows = [line for line in listed.split("<tr>") if "field-live" in line]
    assert {
        str(release): "icon-yes" in row for row in rows for release in (newer, published) if str(release) in row
    } == {
        str(newer): True,
        str(published): False,
    }
    assert published.version in shown
    assert all(f"field-{name}" in shown for name in ("live", "op_count", "created_at", "created_by"))


def test_sentences_are_edited_in_lines_as_long_as_they(admin_client: Client) -> None:
    content = admin_client.get(url(Op, "change", make_op().pk)).content.decode()

    assert re.search(r'name="summary"[^>]*class="vLargeTextField"', content)


def test_staff_without_the_permission_cannot_publish(client: Client, django_user_model: Any) -> None:
    op = make_op()
    editor = django_user_model.objects.create_user("editor", is_staff=True)
    editor.user_permissions.add(*Permission.objects.filter(codename__in=["change_op", "view_op"]))
    client.force_login(editor)

    act(client, Op, "publish_draft", op)

    assert releases.live() is None


def test_shipped_rows_are_kept_and_own_rows_can_go(admin_client: Client) -> None:
    shipped = make_op(shipped={"op": "onto.task.add"})
    own = make_op("onto.task.own")

    def delete(*rows: Op) -> int:
        data = {"action": "delete_selected", "_selected_action": [row.pk for row in rows], "post": "yes"}
        return admin_client.post(url(Op, "changelist"), data).status_code

    assert admin_client.post(url(Op, "delete", shipped.pk), {"post": "yes"}).status_code == 403
    assert delete(shipped, own) == 403
    assert delete(own) == 302
    assert list(Op.objects.all()) == [shipped]
    assert OpAlias.objects.get().op == shipped


def test_every_model_of_copy_has_its_admin() -> None:
    assert set(MODELS) <= set(admin.site._registry)


def test_ops_are_downloaded_as_a_table(admin_client: Client) -> None:
    chosen, _ = make_op(summary="=1+1"), make_op("onto.task.other")

    response, _ = act(admin_client, Op, "export_csv", chosen)

    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert [(row["op"], row["summary"]) for row in rows] == [("onto.task.add", "'=1+1")]
