"""The admin under malformed requests: it answers with a field error or a message, and permissions hold."""

import html
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import pytest
from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import DateTimeField, JSONField, Model
from django.test import Client as HttpClient
from django.test import RequestFactory
from django.urls import reverse

from core.admin.form_fields import LinesField, StrictJSONField
from core.admin.site import MAX_VALUE_LENGTH, MAX_WORDS
from gateway.access import api_keys
from gateway.models import ApiKey, Client
from tests.support.console.admin_models import MODELS, get_admin_url
from tests.support.console.hostile_pages import BIG, ODD_PATHS, assert_status, choose_in_turn, choose_models, dump_rows
from tests.support.console.staff import create_staff
from tests.support.loops import for_each

pytestmark = pytest.mark.usefixtures("short_sidebar")

ODD_IDS = ["abc", "zz", "\x00", "zz\x00", BIG, "9" * 5_000, "-1", "é", "{}", "[]", "' OR 1=1 --"]
ODD_LOOKUPS: list[tuple[Any, ...]] = [
    ("", "abc", 200, 302, 400),
    ("__in", BIG, 200, 302, 400),
    ("__year", BIG, 200, 302, 400),
    ("__contains", "abc", 200, 302, 400),
    ("__exact", "\x00", 400),
    ("__regex", "(a+)+$", 400),
]


# --- who may do what --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("verbs", "offered"), [(["change"], {"revoke"}), (["add", "change"], {"revoke", "rotate"})])
def test_action_that_shows_a_new_key_needs_the_add_permission(
    live_catalog: Any, rf: RequestFactory, verbs: list[str], offered: set[str]
) -> None:
    request = rf.get("/")
    request.user = create_staff("staff", permissions=[f"{verb}_apikey" for verb in verbs])

    assert set(admin.site.get_model_admin(ApiKey).get_actions(request)) == offered


# --- JSON in forms ----------------------------------------------------------------------------------------------------


def iterate_json_fields() -> Iterator[tuple[str, forms.Field]]:
    """Yield every editable JSON field of the console, inlines included, with its form field."""
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_active=True, is_staff=True)
    for model_admin in admin.site._registry.values():
        for each in (model_admin, *model_admin.get_inline_instances(request)):
            if not (
                each.has_add_permission(request, None) if each is not model_admin else each.has_add_permission(request)
            ):
                continue
            for field in each.model._meta.fields:
                if isinstance(field, JSONField) and field.editable:
                    yield f"{type(each).__name__}.{field.name}", each.formfield_for_dbfield(field, request)


def test_admin_forms_parse_json_as_strictly_as_the_api(db: None) -> None:
    fields = dict(iterate_json_fields())
    lists = {name for name, field in fields.items() if isinstance(field, LinesField | forms.MultipleChoiceField)}

    assert {"CohortAdmin.listed", "OpAdmin.keywords", "ClientAdmin.op_patterns", "ApiKeyAdmin.scopes"} <= lists
    assert {"DocumentAdmin.props", "ExampleInline.args", "OpAdmin.parameters_schema"} <= set(fields) - lists
    assert {name for name, field in fields.items() if not isinstance(field, StrictJSONField)} == lists


# --- keys -------------------------------------------------------------------------------------------------------------


@for_each(
    "wrong",
    [
        *({"scopes": scopes} for scopes in ("", "root", '["help"]', '[["help"]]', "[{}]", "[null]")),
        *(
            {"subject": subject}
            for subject in ("demo-é", "demo- x", "demo-" + "x" * 200, "other", "demo-\x00", "demo-\x7f")
        ),
    ],
    undone=True,
)
def test_invalid_key_is_a_field_error(db: None, admin_client: HttpClient, wrong: dict[str, str]) -> None:
    owner = Client.objects.create(name="chat", subject_pattern="demo-*")
    form = {"client": owner.pk, "name": "k", "subject": "demo-user", "scopes": "help", "rate": 7} | wrong

    response = admin_client.post(get_admin_url(ApiKey, "add"), form)

    assert response.status_code == 200
    assert set(response.context["adminform"].form.errors) == set(wrong)
    assert not ApiKey.objects.exists()


def test_key_is_not_rotated_when_its_client_may_no_longer_have_it(db: None, admin_client: HttpClient) -> None:
    owner = Client.objects.create(name="chat")
    key, _ = api_keys.issue(client=owner, by="tests", subject="demo-user")
    Client.objects.update(subject_pattern="acme-*")

    data = {"action": "rotate", "_selected_action": [key.pk]}
    response = admin_client.post(get_admin_url(ApiKey, "changelist"), data, follow=True)

    assert "A key of chat can be bound to" in html.unescape(response.content.decode())
    assert ApiKey.objects.get().expires_at is None


# --- odd requests -----------------------------------------------------------------------------------------------------


@contextmanager
def isolate_model(http: HttpClient, model: type[Model]) -> Iterator[None]:
    """Undo the changes of the block, and add the model's name to a failure."""
    try:
        with transaction.atomic():
            http.cookies.pop("messages", None)  # messages of all models together exceed the size of a cookie
            yield
            transaction.set_rollback(True)
    except Exception as error:
        error.add_note(f"model: {model._meta.label}")
        raise


def test_admin_action_refuses_odd_row_ids(row_of_every_model: None, admin_client: HttpClient) -> None:
    before = dump_rows()

    for model in MODELS:
        for _, action, _ in admin.site.get_model_admin(model)._get_base_actions():
            for odd in ODD_IDS:
                chosen = {"action": action, "_selected_action": [odd], "post": "yes"}
                assert_status(admin_client.post(get_admin_url(model, "changelist"), chosen), 200, 302, 400, 403)
        assert_status(admin_client.post(get_admin_url(model, "changelist"), {"_selected_action": "zz\x00"}), 400)

    assert dump_rows() == before


@pytest.mark.both_databases
def test_changelist_refuses_odd_searches(db: None, admin_client: HttpClient) -> None:
    for number, model in enumerate(choose_models()):
        with isolate_model(admin_client, model):
            url = get_admin_url(model, "changelist")

            for q in choose_in_turn((" ".join(["a"] * 3_000), "\x00", "a" * 60_000, "%" * 60_000), 1, number):
                assert_status(admin_client.get(url, {"q": q}), 400)
            read = (" ".join(["a"] * MAX_WORDS), "'\"" * 3_000, "\\", "%" * MAX_VALUE_LENGTH, "é" * MAX_VALUE_LENGTH)
            for q in choose_in_turn(read, 1, number):
                assert_status(admin_client.get(url, {"q": q}), 200)
            assert_status(admin_client.get(f"{url}?q=%ED%A0%80"), 200)
            assert_status(admin_client.get(f"{url}?{urlencode([('q', 'a')] * 900)}"), 400)


@pytest.mark.both_databases
def test_changelist_refuses_odd_filters(db: None, admin_client: HttpClient) -> None:
    for number, model in enumerate(choose_models()):
        with isolate_model(admin_client, model):
            url = get_admin_url(model, "changelist")
            model_admin = admin.site.get_model_admin(model)
            filters = [
                each if isinstance(each, str) else each[0] if isinstance(each, tuple) else each.parameter_name
                for each in model_admin.list_filter
            ]
            # Django treats all fields of one type alike, so one field of each type is enough.
            names_by_type = {type(field): field.name for field in model._meta.fields}
            names = {*names_by_type.values(), *filters}

            # Django handles its own parameters alike for every model. Each gets other odd values with each model.
            own = ("p", "o", "e", "all", "_popup", "_to_field", "_changelist_filters", "no_such__field")
            for turn, name in enumerate(own, start=number):
                for odd in choose_in_turn(ODD_IDS, 1, turn):
                    assert_status(admin_client.get(url, {name: odd}), 200, 302, 400)
            # Fields by which the list filters get two lookups each; the others, which are refused alike, one each.
            for turn, name in enumerate(sorted(names), start=number):
                for lookup, odd, *statuses in choose_in_turn(ODD_LOOKUPS, 2 if name in filters else 1, turn):
                    assert_status(admin_client.get(url, {f"{name}{lookup}": odd}), *statuses)


@pytest.mark.both_databases
def test_row_pages_refuse_odd_ids(db: None, admin_client: HttpClient) -> None:
    for number, model in enumerate(choose_models()):
        with isolate_model(admin_client, model):
            # The three pages find their row alike: the first gets more of the odd paths.
            for name in ("change", "delete", "history"):
                for odd in choose_in_turn(ODD_PATHS, 3 if name == "change" else 1, number):
                    url = get_admin_url(model, name, "PK").replace("PK", odd)
                    assert_status(admin_client.get(url), 302, 400, 403, 404)
                    assert_status(admin_client.post(url, {"post": "yes"}), 302, 400, 403, 404)


@pytest.mark.both_databases
def test_add_page_refuses_odd_values(db: None, admin_client: HttpClient) -> None:
    for number, model in enumerate(choose_models()):
        with isolate_model(admin_client, model):
            url = get_admin_url(model, "add")
            fields = (*model._meta.fields, *model._meta.many_to_many)
            plain = [field for field in fields if not field.related_model and not isinstance(field, DateTimeField)]

            for odd in choose_in_turn(("abc", BIG, "zz\x00", "[]"), 1, number):
                assert_status(admin_client.get(url, {field.name: odd for field in plain}), 200, 400, 403)
                assert_status(admin_client.post(url, {field.name: odd for field in plain}), 200, 302, 403)
            for field in fields:
                if field.related_model:
                    for odd in choose_in_turn(("abc", BIG, "zz\x00"), 1, number):
                        assert_status(admin_client.get(url, {field.name: odd}), 200, 400, 403)
                        assert_status(admin_client.post(url, {field.name: odd}), 200, 400, 403)
                elif field not in plain:
                    assert_status(admin_client.get(url, {field.name: "2026-03-01"}), 400)
                    assert_status(admin_client.post(url, {f"{field.name}_0": "x", f"{field.name}_1": BIG}), 200, 403)


def test_autocomplete_refuses_odd_terms(db: None, admin_client: HttpClient) -> None:
    url = reverse("admin:autocomplete")

    for field in (field for model in MODELS for field in model._meta.fields if field.related_model):
        meta = field.model._meta
        query = {"app_label": meta.app_label, "model_name": meta.model_name, "field_name": field.name}
        for term in ("\x00", " ".join(["a"] * 5_000)):
            assert_status(admin_client.get(url, query | {"term": term}), 400)
        assert_status(admin_client.get(url, query | {"term": "a"}), 200, 403, 404)
        assert_status(admin_client.get(url, query | {"term": "a", "field_name": "\x00"}), 400)


def test_login_and_redirects_refuse_odd_values(row_of_every_model: None, admin_client: HttpClient) -> None:
    for odd in ("\x00", "//evil.example", "a" * 5_000):
        assert_status(admin_client.get(reverse("admin:login"), {"next": odd}), 200, 302, 400)
        assert_status(HttpClient().post(reverse("admin:login"), {"username": odd, "password": odd}), 200)
    for kind in ("1", "abc", BIG):
        for odd in ("abc", "zz", "_00", "1"):
            assert_status(admin_client.get(f"/admin/r/{kind}/{odd}/"), 400, 404)
