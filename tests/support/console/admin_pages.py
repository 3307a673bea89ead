"""Pages of the registry: their addresses, forms and actions."""

import json
from collections.abc import Iterable
from typing import Any

from django.forms import BooleanField, BoundField, MultipleChoiceField
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from registry.models import Op


def get_registry_url(model: Any, page: str, *args: Any) -> str:
    return reverse(f"admin:registry_{model._meta.model_name}_{page}", args=args)


def read_text(response: HttpResponse) -> str:
    """Return a page with one space for all white space."""
    return " ".join(response.content.decode().split())


def read(page: HttpResponse) -> str:
    """Return a page that opened, with one space for all white space."""
    assert page.status_code == 200
    return read_text(page)


def try_op(client: Client, path: str, args: Any, **data: str) -> HttpResponse:
    """Send the form that tries an op of the draft."""
    url = reverse("admin:op_try", args=[Op.objects.get(op=path).pk])
    return client.post(url, {"args": json.dumps(args), "subject": "", "under": "draft", **data})


def read_form(response: HttpResponse) -> dict[str, Any]:
    """Return the fields that a browser would send from an unchanged page, inlines included."""
    context: Any = response.context
    forms = [context["adminform"].form]
    for inline in context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.forms]
    return read_fields(field for form in forms for field in form)


def read_fields(bound: Iterable[BoundField]) -> dict[str, Any]:
    """Return what a browser would send of fields: nothing of a box that is not ticked, a list of several choices."""
    fields = list(bound)
    values = {field.html_name: field.value() for field in fields}
    boxes = {field.html_name for field in fields if isinstance(field.field, BooleanField)}
    choices = {field.html_name for field in fields if isinstance(field.field, MultipleChoiceField)}
    written = {name: value for name, value in values.items() if name not in boxes | choices}
    sent: dict[str, Any] = {name: "" if value is None else str(value) for name, value in written.items()}
    sent |= {name: values[name] for name in choices if values[name]}
    return sent | {name: "on" for name in boxes if values[name]}


def open_form(client: Client, row: Any) -> dict[str, Any]:
    """Open the page of a row, and return the fields that a browser would send from it."""
    return read_form(client.get(get_registry_url(type(row), "change", row.pk)))


def save_row(client: Client, row: Any, sent: dict[str, Any]) -> HttpResponse:
    return client.post(get_registry_url(type(row), "change", row.pk), sent)


def approve_changes(client: Client, url: str, *names: str) -> HttpResponse:
    """Open the page with the changes of a connection, approve some of them, and return the page that follows."""
    page: Any = client.get(url)
    seen = [change.seen_digest for change in page.context["changes"]]
    return client.post(url, {"name": names, "seen": seen}, follow=True)
