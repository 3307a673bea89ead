"""Every admin page under malformed requests: it refuses them, never fails, and changes nothing.

The pages come from the URLconf, so a new page is tested without a change here. Each request is what a browser would
send from the page, with a few odd fields.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html.parser import HTMLParser
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.test.client import MULTIPART_CONTENT
from django.urls import resolve, reverse

from tests.support.console import role_matrix
from tests.support.console.hostile_pages import BIG, ODD_PATHS, assert_status, choose_in_turn, dump_rows
from tests.support.console.role_matrix import ROLES_BY_LETTER, get_page_url

pytestmark = pytest.mark.usefixtures("short_sidebar")

OTHER_PAGES = sorted(set(role_matrix.ADMIN_NAMES) - set(role_matrix.MODEL_PAGES))  # pages that belong to no model
FORM_PAGES = sorted(
    name
    for name, (model, of_model) in role_matrix.MODEL_PAGES.items()
    if of_model in ("add", "change") and model._meta.app_label in ("analytics", "audit", "notifications", "registry")
)
POST_PAGES = [
    name
    for name in (*OTHER_PAGES, *FORM_PAGES)
    if "A" in (role_matrix.get_expected_roles(name)[1] or "") and name != "login"
]

ODD = ["", "abc", "\x00", "zz\x00", "-1", BIG, "9" * 5_000, "x" * 20_000, "[]", "{", "' OR 1=1 --", "\u200b", "é" * 300]
FORM = "application/x-www-form-urlencoded"
ODD_METHODS = ["PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "BREW"]
ODD_BODIES = [
    (b"", "multipart/form-data"),
    (b"garbage", "multipart/form-data; boundary=x"),
    (b'--x\r\nContent-Disposition: form-data; name="note"\r\n\r\ncut', "multipart/form-data; boundary=x"),
    (b"note=%ff%fe&%00=%00", "application/x-www-form-urlencoded"),
    (b"note=x", "application/x-www-form-urlencoded; charset=nonsense"),
    (b"&" * 5_000 + b"a=1" * 5_000, "application/x-www-form-urlencoded"),
    (b"&".join(b"a%d=1" % number for number in range(1_100)), "application/x-www-form-urlencoded"),
    (b"note=" + b"x" * 3_000_000, "application/x-www-form-urlencoded"),
    (b'{"note": "x"}', "application/json"),
    (b"\xff\xfe\x00", "text/plain; charset=utf-16"),
]
ODD_FILES = [
    ("a.yaml", b""),
    ("a.yaml", b"\x00\xff\xfe"),
    ("a.yaml", b"ops: [" * 5_000),
    ("a.yaml", b"format: 1\nops: 7\ngroups: x\n"),
    ("a.yaml", b"- - -"),
    ("\x00.yaml", b"format: 1"),
    ("a.zip", b"PK\x03\x04garbage"),
    ("a.zip", b"PK\x05\x06" + b"\x00" * 18),
    ("../../a.yaml" * 50, b"format: 1"),
]
PARTS = 4  # the longest tests run in parts, so that test workers share them
LATER_ROW = re.compile(r"-(?:[1-9]\d*|__prefix__)-")  # later rows of a formset behave like the first one
# Valid values for the fields that confirm an action.
VALID_FIELDS = {
    "note": "x",
    "reason": "x",
    "because": "x",
    "post": "yes",
    "action": "delete_selected",
}


class FormParser(HTMLParser):
    """Collects the fields that a browser would send from the forms of a page, without the logout form."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, Any] = {}
        self.inside, self.text, self.select = False, "", ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        name = attributes.get("name", "")
        if tag == "form":
            self.inside = attributes.get("method") == "post" and "logout" not in attributes.get("action", "")
        elif not self.inside or name == "csrfmiddlewaretoken":
            pass
        elif tag == "textarea":
            self.text = name
            self.fields[name] = ""
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select and ("selected" in attributes or self.select not in self.fields):
            self.fields[self.select] = attributes.get("value", "")
        elif tag == "input" and name and self._is_sent(attributes):
            self.fields[name] = attributes.get("value", "on" if attributes.get("type") == "checkbox" else "")

    def handle_data(self, data: str) -> None:
        if self.text:
            self.fields[self.text] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        elif tag == "textarea":
            self.text = ""
        elif tag == "select":
            self.select = ""

    def _is_sent(self, attributes: dict[str, str]) -> bool:
        return attributes.get("type") not in ("submit", "file") and (
            attributes.get("type") not in ("checkbox", "radio") or "checked" in attributes
        )


def read_form(http: HttpClient, name: str, rows: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a browser would send to a page. For a preview, these are the fields of its form page."""
    page = name.replace("_add_preview", "_add").replace("_preview", "_change")
    html = http.get(get_page_url(page, rows)).content.decode(errors="replace")  # one page is an archive
    return FormParser(html).fields


def send_and_undo(
    http: HttpClient, method: str, url: str, data: Any = None, body: bytes = b"", media_type: str = FORM
) -> HttpResponse:
    """Send a request and undo its effect. Exceptions of the page propagate."""
    with transaction.atomic():
        response = http.generic(method, url, body, media_type) if data is None else http.post(url, data)
        transaction.set_rollback(True)
    return response


def assert_answered(response: HttpResponse) -> None:
    """Check that the response is a success, a redirect or a refusal, and no server error."""
    assert response.status_code in (200, 302, 400, 403, 404, 405, 413), (response.status_code, response.content[:300])


@cache
def list_parameters() -> list[str]:
    """Return the names of all query parameters that the pages of the console read."""
    root = Path(settings.BASE_DIR)
    code = "\n".join(
        file.read_text()
        for app in ("console", "registry", "gateway", "core", "analytics", "audit", "notifications")
        for file in (root / app).rglob("*.py")
    )
    return sorted({"before", "after", *re.findall(r'request\.GET(?:\.get(?:list)?\(|\[)"([\w-]+)"', code)})


def iterate_groups(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield some names at a time: a form tells of each field by itself, so a few may be odd at once."""
    for start in range(0, len(names), 16):
        yield names[start : start + 16]


def iterate_odd_addresses(url: str) -> Iterator[str]:
    """Yield the address of a page with odd ids in the place of its own."""
    match = resolve(url)
    for value in (*match.args, *match.kwargs.values()):
        for odd in (*ODD_PATHS, "0", "%00", "a" * 300) if isinstance(value, str | int) else ():
            yield url.replace(f"/{value}/", f"/{odd}/")


@contextmanager
def isolate_page(http: HttpClient, name: str) -> Iterator[None]:
    """Undo the changes of the block, also to the session, and add the page's name to a failure."""
    try:
        with transaction.atomic():
            http.cookies.clear()  # also the messages
            http.force_login(User.objects.get(username="admin"))
            yield
            transaction.set_rollback(True)
    except Exception as error:
        error.add_note(f"page: {name}")
        raise


def test_admin_pages_refuse_odd_ids(rows: dict[str, Any], admin_client: HttpClient) -> None:
    for name in OTHER_PAGES:
        with isolate_page(admin_client, name):
            for url in iterate_odd_addresses(get_page_url(name, rows).partition("?")[0]):
                assert_answered(send_and_undo(admin_client, "GET", url))
                assert_answered(send_and_undo(admin_client, "POST", url))


@pytest.mark.parametrize("part", range(PARTS))
def test_odd_query_parameters_change_nothing(rows: dict[str, Any], admin_client: HttpClient, part: int) -> None:
    before = dump_rows()

    for number, name in list(enumerate(OTHER_PAGES))[part::PARTS]:
        with isolate_page(admin_client, name):
            url = get_page_url(name, rows).partition("?")[0]
            for value in choose_in_turn(ODD, 1, number):
                assert_answered(admin_client.get(url, dict.fromkeys(list_parameters(), value)))
            first = number % len(ODD)
            odd = cycle(ODD[first:] + ODD[:first])  # each parameter gets another odd value on each page
            for group in choose_in_turn([*iterate_groups(list_parameters())], 1, number):
                assert_answered(admin_client.get(url, {parameter: next(odd) for parameter in group}))
            assert_answered(admin_client.get(url, dict.fromkeys(list_parameters(), "1")))
            surrogates = "&".join(f"{parameter}=%ED%A0%80" for parameter in list_parameters())
            assert_answered(admin_client.get(f"{url}?{surrogates}"))
            assert dump_rows() == before, name


@pytest.mark.parametrize("part", range(PARTS))
def test_only_post_requests_change_rows(rows: dict[str, Any], admin_client: HttpClient, part: int) -> None:
    before = dump_rows()

    for number, name in list(enumerate([*OTHER_PAGES, *FORM_PAGES]))[part::PARTS]:
        with isolate_page(admin_client, name):
            url, fields = get_page_url(name, rows).partition("?")[0], VALID_FIELDS
            if "A" in (role_matrix.get_expected_roles(name)[0] or ""):
                fields = read_form(admin_client, name, rows) | VALID_FIELDS
            assert_answered(
                admin_client.get(url, {key: value for key, value in fields.items() if len(str(value)) < 1_000})
            )
            for method in choose_in_turn(ODD_METHODS, 1, number):
                body = "&".join(f"{key}={value}" for key, value in VALID_FIELDS.items())
                response = admin_client.generic(method, url, body, content_type="application/x-www-form-urlencoded")
                assert_status(response, 200, 302, 400, 403, 404, 405)
            if name != "logout":
                assert dump_rows() == before, name


@pytest.mark.parametrize("part", range(PARTS))
def test_forms_refuse_odd_values(rows: dict[str, Any], admin_client: HttpClient, part: int) -> None:
    for number, name in list(enumerate(POST_PAGES))[part::PARTS]:
        with isolate_page(admin_client, name):
            url, fields, odd = get_page_url(name, rows), read_form(admin_client, name, rows), cycle(ODD)
            groups = [*iterate_groups([field for field in fields if not LATER_ROW.search(field)])]
            for group in choose_in_turn(groups, 1, number):
                assert_answered(
                    send_and_undo(admin_client, "POST", url, fields | {field: next(odd) for field in group})
                )
            for value in choose_in_turn(ODD, 1, number):
                assert_answered(send_and_undo(admin_client, "POST", url, dict.fromkeys(fields, value)))
            twice = {field: [value, value] for field, value in fields.items()}
            assert_answered(send_and_undo(admin_client, "POST", url, twice))


def test_forms_refuse_odd_bodies(rows: dict[str, Any], admin_client: HttpClient) -> None:
    for number, name in enumerate(POST_PAGES):
        with isolate_page(admin_client, name):
            for body, media_type in choose_in_turn(ODD_BODIES, 1, number):
                assert_answered(
                    send_and_undo(admin_client, "POST", get_page_url(name, rows), body=body, media_type=media_type)
                )


def test_formsets_refuse_odd_row_counts(rows: dict[str, Any], admin_client: HttpClient) -> None:
    for number, name in enumerate(name for name in POST_PAGES if name.endswith(("_add", "_change", "_preview"))):
        with isolate_page(admin_client, name):
            url, fields = get_page_url(name, rows), read_form(admin_client, name, rows)
            for prefix in {field.removesuffix("-TOTAL_FORMS") for field in fields if field.endswith("-TOTAL_FORMS")}:
                total, initial = f"{prefix}-TOTAL_FORMS", f"{prefix}-INITIAL_FORMS"
                odd = ({total: "abc"}, {total: "30"}, {initial: "30"}, {initial: "-1", f"{prefix}-0-id": BIG})
                for changes in choose_in_turn(odd, 1, number):
                    assert_answered(send_and_undo(admin_client, "POST", url, fields | changes))
                without = {key: value for key, value in fields.items() if key != total}
                assert_answered(send_and_undo(admin_client, "POST", url, without))


def test_odd_files_are_form_errors(rows: dict[str, Any], admin_client: HttpClient) -> None:
    url, before = reverse("admin:registry_op_files"), dump_rows()

    for file, content in ODD_FILES:
        for _ in range(2):
            response = admin_client.post(url, {"chosen": SimpleUploadedFile(file, content, MULTIPART_CONTENT)})
            assert response.status_code == 200, (file, content[:30])
            assert response.context["form"].errors, (file, content[:30])
        admin_client.post(url, {"content": content.decode("latin-1"), "seen": file})

        assert dump_rows() == before, (file, content[:30])


def test_admin_pages_refuse_posts_without_a_csrf_token(rows: dict[str, Any], admin_client: HttpClient) -> None:
    http = HttpClient(enforce_csrf_checks=True)
    http.cookies = admin_client.cookies
    before = dump_rows()

    for name in (*OTHER_PAGES, *role_matrix.MODEL_PAGES):
        if role_matrix.get_expected_roles(name)[1] is not None:
            assert http.post(get_page_url(name, rows), VALID_FIELDS).status_code == 403, name

    assert dump_rows() == before


def test_forms_are_refused_for_roles_that_may_not_send_them(
    rows: dict[str, Any], admin_client: HttpClient, client: HttpClient
) -> None:
    forms = {name: read_form(admin_client, name, rows) | VALID_FIELDS for name in POST_PAGES}

    for letter in ROLES_BY_LETTER:
        client.force_login(role_matrix.create_user_with_role(letter))
        before = dump_rows()
        for name, form in forms.items():
            if letter not in (role_matrix.get_expected_roles(name)[1] or ""):
                assert_status(client.post(get_page_url(name, rows), form), 302, 403, 404)
        assert dump_rows() == before, letter
