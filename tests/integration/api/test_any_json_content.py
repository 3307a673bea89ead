"""Rows of the draft may hold any JSON that parses: every page that shows them answers, and jobs go on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.text import json_text
from registry.catalog import cache
from registry.models import Example, Op
from registry.releases import publishing, unpublished
from tests.support.clients.api import Api
from tests.support.cpu_budget import examples

OP = "onto.task.update"
NUMBERS = (
    st.integers()
    | st.sampled_from(
        [2**53, 2**63 - 1, -(2**63), 2**64 - 1, 2**64, 10**30, -(10**400), 1e16, 1e17, 1e19, 1e300, -1e16]
    )
    | st.floats(allow_nan=False, allow_infinity=False)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
COLUMNS = VALUES.filter(lambda value: value is not None)  # no column is NULL
BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxLength", "minItems"]
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["integer", "number", "string", "object"]) | VALUES,
        "default": VALUES,
        "const": VALUES,
        "examples": st.lists(VALUES, max_size=2) | VALUES,
        "enum": st.lists(VALUES, min_size=1, max_size=3) | VALUES,
        "description": TEXTS | VALUES,
        **dict.fromkeys(BOUNDS, NUMBERS | VALUES),
    },
)
SCHEMAS = (
    st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(TEXTS, ARGUMENTS, max_size=2)})
    | COLUMNS
)
ENTRIES = st.fixed_dictionaries(
    {"parameters_schema": SCHEMAS},
    optional=dict.fromkeys(("contexts", "keywords", "result_fields", "argument_aliases", "display_only"), COLUMNS),
)

# Shrinking an example opens these pages hundreds of times.
UNSHRUNK = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

pytestmark = [pytest.mark.both_databases, pytest.mark.usefixtures("short_sidebar")]


@contextmanager
def undone() -> Iterator[None]:
    """Undo what the block writes, so that each example begins with the same rows."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def list_draft_pages(op: Op) -> list[str]:
    names = ["index", "registry_op_changelist", "registry_release_review", "registry_release_changelist"]
    names += [
        "registry_op_files",
        "registry_op_download",
        "registry_evalcase_changelist",
        "registry_release_discard_all",
    ]
    change = reverse("admin:registry_op_change", args=[op.pk])
    return [reverse(f"admin:{name}") for name in names] + [change]


def assert_pages_answer(http: HttpClient, pages: list[str]) -> None:
    for page in pages:
        response = http.get(page)
        assert response.status_code == 200, (page, response.status_code)
        b"".join(response) if response.streaming else response.content


@settings(UNSHRUNK, max_examples=examples(6))
@given(ENTRIES, COLUMNS)
def test_pages_and_jobs_take_any_json(api: Api, admin_client: HttpClient, entry: dict[str, Any], args: Any) -> None:
    op = Op.objects.get(op=OP)
    with undone():
        Op.objects.filter(pk=op.pk).update(**entry, is_counted=False, updated_at=timezone.now())
        Example.objects.filter(op=op).update(args=args)

        assert_pages_answer(admin_client, list_draft_pages(op))
        unpublished.count_tokens(timezone.now())

        assert Op.objects.get(op=OP).is_counted


@settings(UNSHRUNK, max_examples=examples(12))
@given(NUMBERS, st.sampled_from([*BOUNDS, "default", "const"]))
def test_release_with_any_number_is_served_and_can_be_rolled_back(
    api: Api, admin_client: HttpClient, number: float, keyword: str
) -> None:
    op = Op.objects.get(op=OP)
    schema = {"type": "object", "properties": {"after": {"type": "number", keyword: number}}}
    # A keyword such as maxLength takes no negative number.
    with undone(), suppress(publishing.NotPublishable):
        Op.objects.filter(pk=op.pk).update(parameters_schema=schema, updated_at=timezone.now())
        Example.objects.filter(op=op).delete()
        release = publishing.publish_draft(note="A number", by="tests", at=timezone.now(), accepted="A test")
        assert json_text.hash_canonically(json.loads(release.content)) == release.version

        cache.refresh_live()
        answer = json.loads(api.post("help", {"path": OP, "arg": "after"}).content)
        assert answer["arg"].get(keyword, number) == number
        release_page = reverse("admin:registry_release_change", args=[release.pk])
        assert_pages_answer(admin_client, [*list_draft_pages(op), release_page])


@pytest.mark.parametrize("value", ["\ud800", json.loads("[" * 300 + "]" * 300)], ids=["half a surrogate", "300 levels"])
def test_value_that_no_release_can_hold_is_named_by_the_review(api: Api, admin_client: HttpClient, value: Any) -> None:
    if connection.vendor == "postgresql" and isinstance(value, str):
        pytest.skip("by design: PostgreSQL does not store it")
    Example.objects.filter(op__op=OP).update(args={"title": value})
    Op.objects.filter(op=OP).update(updated_at=timezone.now())

    review = admin_client.get(reverse("admin:registry_release_review"))

    assert review.status_code == 200
    assert f"{OP}" in review.content.decode()
    with pytest.raises(publishing.NotPublishable, match=OP):
        publishing.publish_draft(note="A value", by="tests", at=timezone.now(), accepted="A test")
