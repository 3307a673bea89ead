"""Releases in the admin: which is live, what they are, and what is done with them."""

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from registry import releases
from registry.models import Op, Release
from tests.unit.registry.admin.pages import AT, act, url

pytestmark = pytest.mark.django_db


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

    rows = [row for row in listed.split("<tr") if "field-live" in row]
    assert {
        str(release): "check_small" in row for row in rows for release in (newer, published) if str(release) in row
    } == {
        str(newer): True,
        str(published): False,
    }
    assert published.version in shown
    assert all(label in shown for label in ("Live", "Op count", "Created at", "Created by"))


def test_a_release_is_withdrawn_and_restored_in_the_admin(admin_client: Client, published: Release) -> None:
    Op.objects.update(summary="Other")
    newer = releases.publish(note="Test", by="tests", at=AT)

    def withdraw(release: Release, reason: str) -> str:
        data = {"action": "withdraw", "_selected_action": [release.pk], "reason": reason}
        response = admin_client.post(url(Release, "changelist"), data)
        return [str(message) for message in get_messages(response.wsgi_request)][-1]

    assert act(admin_client, Release, "restore", published)[1][-1].startswith(f"The draft is release {published} again")
    assert releases.draft_version() == published.version
    assert act(admin_client, Release, "restore", published)[1][-1] == f"The draft is release {published} already."
    assert "Make another one live first" in withdraw(newer, "Wrong")
    assert "Say why" in withdraw(published, "")
    assert "is withdrawn" in withdraw(published, "Wrong")
    assert "was withdrawn by admin: Wrong" in act(admin_client, Release, "make_live", published)[1][-1]

    assert releases.live() == newer
