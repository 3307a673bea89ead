"""The admin under odd requests: a field error or a sentence, never a failure, and nobody does what they may not."""

import html
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import pytest
from django import forms
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import transaction
from django.db.models import DateTimeField, JSONField, Model
from django.test import Client as HttpClient
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone

from analytics.events import event_log
from core.admin.form_fields import LinesField, StrictJSONField
from core.admin.site import MAX_VALUE_LENGTH, MAX_WORDS
from gateway.clients import api_keys
from gateway.jobs import runner
from gateway.models import ApiKey, Client
from tests.support.admin_models import MODELS, page
from tests.support.api import Api
from tests.support.cpu_budget import is_thorough
from tests.support.hostile_pages import BIG, ODD_PATHS, answered, stored
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Document

ODD_IDS = ["abc", "zz", "\x00", "zz\x00", BIG, "9" * 5_000, "-1", "é", "{}", "[]", "' OR 1=1 --"]
ODD_JSON = [
    *('"\\ud800"', '{"a": "\\ud800"}', "NaN", '{"a": 1e999}', '"\\u0000"', '["\\u0000"]', "[" * 2_000 + "]" * 2_000),
    *("9" * 5_000, '{"a": 1, "a": 2}', "{"),
]
ODD_LOOKUPS: list[tuple[Any, ...]] = [
    ("", "abc", 200, 302, 400),
    ("__in", BIG, 200, 302, 400),
    ("__year", BIG, 200, 302, 400),
    ("__contains", "abc", 200, 302, 400),
    ("__exact", "\x00", 400),
    ("__regex", "(a+)+$", 400),
]


def in_turn(cases: Sequence[Any], count: int, number: int) -> Sequence[Any]:
    """Return some of the cases, others with the next number; all of them where the run takes its time."""
    if is_thorough():
        return cases
    return [cases[(number * count + offset) % len(cases)] for offset in range(count)]


def ids(model: type[Model]) -> str:
    return model._meta.label


@pytest.fixture
def everything(api: Api) -> None:
    """At least one row of every model of ours that calls make."""
    args = {"project_id": DEMO_PROJECT_ID, "title": "x"}
    assert api.exec("onto.task.create", args, idempotency_key="once")["ok"]
    api.help("root")
    event_log.flush()
    runner.run_due_jobs(at=timezone.now())


# --- who may do what --------------------------------------------------------------------------------------------------


def test_staff_who_may_only_look_are_offered_no_action_and_refused_each(
    everything: None, client: HttpClient, django_user_model: type[User]
) -> None:
    viewer = django_user_model.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client.force_login(viewer)
    before = stored()

    for model in MODELS:
        listed = client.get(page(model, "changelist"))
        assert listed.status_code == 200
        assert 'name="action"' not in listed.content.decode(), model
        chosen = [row.pk for row in model._default_manager.all()[:1]]
        for _, action, _ in admin.site.get_model_admin(model)._get_base_actions():
            forged = {"action": action, "_selected_action": chosen, "post": "yes"}
            answer = client.post(page(model, "changelist"), forged, follow=True)
            assert "it is not shown again" not in answer.content.decode()
            assert stored() == before, (model, action)


@pytest.mark.parametrize(("verbs", "offered"), [(["change"], {"revoke"}), (["add", "change"], {"revoke", "rotate"})])
def test_who_reads_a_new_key_may_add_one(
    live_catalog: Any, rf: RequestFactory, django_user_model: type[User], verbs: list[str], offered: set[str]
) -> None:
    user = django_user_model.objects.create_user("staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=[f"{verb}_apikey" for verb in verbs]))
    request = rf.get("/")
    request.user = user

    assert set(admin.site.get_model_admin(ApiKey).get_actions(request)) == offered


# --- JSON in forms ----------------------------------------------------------------------------------------------------


def json_fields() -> Iterator[tuple[str, forms.Field]]:
    """Every JSON column that somebody can write in the admin, inlines included, as its form has it."""
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_active=True, is_staff=True)
    for of_model in admin.site._registry.values():
        for each in (of_model, *of_model.get_inline_instances(request)):
            if not (
                each.has_add_permission(request, None) if each is not of_model else each.has_add_permission(request)
            ):
                continue
            for field in each.model._meta.fields:
                if isinstance(field, JSONField) and field.editable:
                    yield f"{type(each).__name__}.{field.name}", each.formfield_for_dbfield(field, request)


def test_every_form_takes_json_as_strictly_as_the_api(db: None) -> None:
    found = dict(json_fields())
    lines = {name for name, field in found.items() if isinstance(field, LinesField)}

    assert lines == {"CohortAdmin.listed", "CohortRuleInline.values"}
    assert {"ClientAdmin.op_patterns", "ApiKeyAdmin.scopes", "DocumentAdmin.props", "ExampleInline.args"} <= set(found)
    assert [name for name, field in found.items() if not isinstance(field, StrictJSONField)] == sorted(lines)


@pytest.mark.parametrize("text", ODD_JSON, ids=lambda text: text[:20])
@pytest.mark.parametrize(
    ("model", "field"), [(Client, "op_patterns"), (ApiKey, "scopes"), (Document, "props")], ids=["Client", "Key", "Doc"]
)
def test_json_that_could_not_be_kept_is_a_field_error(
    db: None, admin_client: HttpClient, model: type[Model], field: str, text: str
) -> None:
    response = admin_client.post(page(model, "add"), {field: text})

    assert response.status_code == 200
    assert field in response.context["adminform"].form.errors
    assert response.content


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        *({"scopes": scopes} for scopes in ('[["help"]]', "[{}]", "[null]", "[1]", '["help", []]')),
        *(
            {"subject": subject}
            for subject in ("demo-é", "demo- x", "demo-" + "x" * 200, "other", "demo-\x00", "demo-\x7f")
        ),
    ],
    ids=str,
)
def test_key_that_could_not_be_made_is_a_field_error(db: None, admin_client: HttpClient, wrong: dict[str, str]) -> None:
    owner = Client.objects.create(name="chat", subject_pattern="demo-*")
    form = {"client": owner.pk, "name": "k", "subject": "demo-user", "scopes": '["help"]', "rate": 7} | wrong

    response = admin_client.post(page(ApiKey, "add"), form)

    assert response.status_code == 200
    assert set(response.context["adminform"].form.errors) == set(wrong)
    assert not ApiKey.objects.exists()


def test_key_that_its_client_no_longer_may_have_is_not_rotated(db: None, admin_client: HttpClient) -> None:
    owner = Client.objects.create(name="chat")
    key, _ = api_keys.issue(client=owner, by="tests", subject="demo-user")
    Client.objects.update(subject_pattern="acme-*")

    data = {"action": "rotate", "_selected_action": [key.pk]}
    response = admin_client.post(page(ApiKey, "changelist"), data, follow=True)

    assert "A key of chat can be bound to" in html.unescape(response.content.decode())
    assert ApiKey.objects.get().expires_at is None


# --- odd requests -----------------------------------------------------------------------------------------------------


@contextmanager
def of_model_named(http: HttpClient, model: type[Model]) -> Iterator[None]:
    """Undo what was done to the pages of a model; a failure names it."""
    try:
        with transaction.atomic():
            http.cookies.pop("messages", None)  # of all models they would be too many for a cookie
            yield
            transaction.set_rollback(True)
    except Exception as error:
        error.add_note(f"model: {model._meta.label}")
        raise


def test_odd_choices_of_rows_are_refused_with_a_sentence(everything: None, admin_client: HttpClient) -> None:
    before = stored()

    for model in MODELS:
        for _, action, _ in admin.site.get_model_admin(model)._get_base_actions():
            for odd in ODD_IDS:
                chosen = {"action": action, "_selected_action": [odd], "post": "yes"}
                answered(admin_client.post(page(model, "changelist"), chosen), 200, 302, 400, 403)
        answered(admin_client.post(page(model, "changelist"), {"_selected_action": "zz\x00"}), 400)

    assert stored() == before


@pytest.mark.both_databases
def test_odd_searches_are_refused_with_a_sentence(db: None, admin_client: HttpClient) -> None:
    for model in MODELS:
        with of_model_named(admin_client, model):
            url = page(model, "changelist")

            number = MODELS.index(model)
            for q in in_turn((" ".join(["a"] * 3_000), "\x00", "a" * 60_000, "%" * 60_000), 2, number):
                answered(admin_client.get(url, {"q": q}), 400)
            read = (" ".join(["a"] * MAX_WORDS), "'\"" * 3_000, "\\", "%" * MAX_VALUE_LENGTH, "é" * MAX_VALUE_LENGTH)
            for q in in_turn(read, 3, number):
                answered(admin_client.get(url, {"q": q}), 200)
            answered(admin_client.get(f"{url}?q=%ED%A0%80"), 200)
            answered(admin_client.get(f"{url}?{urlencode([('q', 'a')] * 900)}"), 400)


@pytest.mark.both_databases
def test_odd_filters_are_refused_with_a_sentence(db: None, admin_client: HttpClient) -> None:
    for model in MODELS:
        with of_model_named(admin_client, model):
            url = page(model, "changelist")
            of_model = admin.site.get_model_admin(model)
            filters = [
                each if isinstance(each, str) else each[0] if isinstance(each, tuple) else each.parameter_name
                for each in of_model.list_filter
            ]
            # Django treats fields of a type alike.
            of_each_type = {type(field): field.name for field in model._meta.fields}
            names = {*of_each_type.values(), *filters}

            # Django's own are read alike for every model: each of them gets another odd value with every model.
            own = ("p", "o", "e", "all", "_popup", "_to_field", "_changelist_filters", "no_such__field")
            for number, name in enumerate(own, start=MODELS.index(model)):
                for odd in (ODD_IDS[number % len(ODD_IDS)], ODD_IDS[(number + 5) % len(ODD_IDS)]):
                    answered(admin_client.get(url, {name: odd}), 200, 302, 400)
            # A field by which the list filters meets every lookup; the others, which are refused alike, some each.
            for number, name in enumerate(sorted(names), start=MODELS.index(model)):
                for lookup, odd, *statuses in ODD_LOOKUPS if name in filters else in_turn(ODD_LOOKUPS, 2, number):
                    answered(admin_client.get(url, {f"{name}{lookup}": odd}), *statuses)


@pytest.mark.both_databases
def test_odd_addresses_of_rows_are_answered(db: None, admin_client: HttpClient) -> None:
    for model in MODELS:
        with of_model_named(admin_client, model):
            # The three pages find their row alike: the first meets every odd path, the others some with each model.
            for name in ("change", "delete", "history"):
                for odd in ODD_PATHS if name == "change" else in_turn(ODD_PATHS, 3, MODELS.index(model)):
                    url = page(model, name, "PK").replace("PK", odd)
                    answered(admin_client.get(url), 302, 400, 403, 404)
                    answered(admin_client.post(url, {"post": "yes"}), 302, 400, 403, 404)


@pytest.mark.both_databases
def test_odd_values_of_a_form_are_answered(db: None, admin_client: HttpClient) -> None:
    for model in MODELS:
        with of_model_named(admin_client, model):
            url = page(model, "add")
            fields = (*model._meta.fields, *model._meta.many_to_many)
            plain = [field for field in fields if not field.related_model and not isinstance(field, DateTimeField)]

            for odd in ("abc", BIG, "zz\x00", "[]"):
                answered(admin_client.get(url, {field.name: odd for field in plain}), 200, 400, 403)
                answered(admin_client.post(url, {field.name: odd for field in plain}), 200, 302, 403)
            for field in fields:
                if field.related_model:
                    for odd in ("abc", BIG, "zz\x00"):
                        answered(admin_client.get(url, {field.name: odd}), 200, 400, 403)
                        answered(admin_client.post(url, {field.name: odd}), 200, 400, 403)
                elif field not in plain:
                    answered(admin_client.get(url, {field.name: "2026-03-01"}), 400)
                    answered(admin_client.post(url, {f"{field.name}_0": "x", f"{field.name}_1": BIG}), 200, 403)


def test_odd_terms_of_an_autocomplete_are_refused(db: None, admin_client: HttpClient) -> None:
    url = reverse("admin:autocomplete")

    for field in (field for model in MODELS for field in model._meta.fields if field.related_model):
        of_field = field.model._meta
        asked = {"app_label": of_field.app_label, "model_name": of_field.model_name, "field_name": field.name}
        for term in ("\x00", " ".join(["a"] * 5_000)):
            answered(admin_client.get(url, asked | {"term": term}), 400)
        answered(admin_client.get(url, asked | {"term": "a"}), 200, 403, 404)
        answered(admin_client.get(url, asked | {"term": "a", "field_name": "\x00"}), 400)


def test_odd_ways_in_are_answered(everything: None, admin_client: HttpClient) -> None:
    for odd in ("\x00", "//evil.example", "a" * 5_000):
        answered(admin_client.get(reverse("admin:login"), {"next": odd}), 200, 302, 400)
        answered(HttpClient().post(reverse("admin:login"), {"username": odd, "password": odd}), 200)
    for kind in ("1", "abc", BIG):
        for odd in ("abc", "zz", "_00", "1"):
            answered(admin_client.get(f"/admin/r/{kind}/{odd}/"), 400, 404)


def test_who_is_no_staff_is_sent_to_the_door_whatever_is_asked(db: None, client: HttpClient) -> None:
    assert client.get(page(ApiKey, "changelist"), {"q": "\x00"}).status_code == 302
