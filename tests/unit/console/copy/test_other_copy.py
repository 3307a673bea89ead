"""Pages of the draft: shipped rows cannot be deleted, and a message says what to do after saving."""

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from registry.models import Op, OpAlias, PromptSection
from tests.support.console.admin_pages import get_registry_url, open_form, save_row
from tests.support.console.staff import sign_in
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db


def test_admin_deletes_own_rows_but_no_shipped_rows(admin_client: Client) -> None:
    shipped = make_op(shipped={"op": "onto.task.add"})
    own = make_op("onto.task.own")

    def delete(*rows: Op) -> int:
        data = {"action": "delete_selected", "_selected_action": [row.pk for row in rows], "post": "yes"}
        return admin_client.post(get_registry_url(Op, "changelist"), data).status_code

    assert admin_client.post(get_registry_url(Op, "delete", shipped.pk), {"post": "yes"}).status_code == 403
    assert delete(shipped, own) == 403
    assert delete(own) == 302
    assert list(Op.objects.all()) == [shipped]
    assert OpAlias.objects.get().op == shipped


def test_save_message_tells_an_editor_to_ask_for_a_review() -> None:
    client = sign_in("ed", role="Editor")
    section = PromptSection.objects.create(prompt="tests", name="a", title="A", text="x", position=1)
    sent = open_form(client, section)

    response = save_row(client, section, sent | {"text": "y"})

    messages = "".join(str(message) for message in get_messages(response.wsgi_request))
    assert "Ask for a review</a>" in messages
    assert "Publish it" not in messages
