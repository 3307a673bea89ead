"""While a draft is published, the page that waits for it can ask how far that is."""

import re
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from registry.evals import evaluation
from registry.help import token_counts
from registry.models import Op, Release
from registry.releases import lifecycle
from tests.support.console.admin_pages import read_text
from tests.support.console.staff import sign_in
from tests.support.rows.copy_rows import change_row

pytestmark = pytest.mark.django_db

URL = "admin:registry_release_review"
STEPS = [(evaluation, "compare_with_live"), (token_counts, "count_catalog_tokens"), (lifecycle, "activate_release")]


def read_progress(client: Client) -> str:
    page = read_text(client.get(reverse(URL), {"progress": ""}))
    [progress] = re.findall("<span data-progress>(.*)</span>", page)
    return progress


def test_each_step_of_publishing_is_shown_to_who_publishes(
    admin_client: Client, published: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sign_in("other", permissions=["view_op", "view_group", "view_promptsection"])
    change_row(Op.objects.get(), summary="Add a task, quickly")
    seen = admin_client.get(reverse(URL)).context["review"].seen
    shown: list[str] = []

    def watch(module: Any, name: str) -> None:
        run_step = getattr(module, name)

        def run_watched(*args: Any, **kwargs: Any) -> Any:
            shown.append(read_progress(admin_client))
            assert read_progress(other) == ""
            return run_step(*args, **kwargs)

        monkeypatch.setattr(module, name, run_watched)

    for module, name in STEPS:
        watch(module, name)
    admin_client.post(reverse(URL), {"seen": seen, "note": "Quicker"})

    assert list(dict.fromkeys(shown)) == [
        "Checking the draft…",
        "Running the eval cases…",
        "Counting the tokens of 1 ops…",
        "Making the release live…",
    ]
    assert read_progress(admin_client) == ""


def test_publishing_goes_on_if_the_user_signs_out_meanwhile(
    admin_client: Client, published: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_row(Op.objects.get(), summary="Add a task, quickly")
    seen = admin_client.get(reverse(URL)).context["review"].seen
    compare = evaluation.compare_with_live

    def sign_out_and_compare(*args: Any, **kwargs: Any) -> Any:
        Session.objects.all().delete()
        return compare(*args, **kwargs)

    monkeypatch.setattr(evaluation, "compare_with_live", sign_out_and_compare)
    admin_client.post(reverse(URL), {"seen": seen, "note": "Quicker"})

    assert Release.objects.get(activations__is_live=True) != published
