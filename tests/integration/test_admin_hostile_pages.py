"""Every page of the admin under requests that no page of it makes: a refusal, never a failure, and nothing is changed.

Pages are those that there are: whoever adds one has it asked here. What is sent is what a browser would send from the
page, with a few fields of it made odd.
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

from tests.support import role_matrix
from tests.support.hostile_pages import BIG, ODD_PATHS, answered, stored
from tests.support.role_matrix import PEOPLE, address

OWN = sorted(set(role_matrix.ADMIN_NAMES) - set(role_matrix.OF_MODELS))  # neither a list of rows nor a row's page
FORMS = sorted(
    name
    for name, (model, of_model) in role_matrix.OF_MODELS.items()
    if of_model in ("add", "change") and model._meta.app_label in ("analytics", "registry")
)
SENT = [name for name in (*OWN, *FORMS) if "A" in (role_matrix.may(name)[1] or "") and name != "login"]

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
PARTS = 4  # into which the longest tests are cut, so that workers share them
LATER_ROW = re.compile(r"-(?:[1-9]\d*|__prefix__)-")  # of a form with several rows, which are all alike
# What a person would write to do what a page is for.
MEANT = {"note": "x", "reason": "x", "because": "x", "reviewed": "on", "post": "yes", "action": "delete_selected"}


class Forms(HTMLParser):
    """What a browser would send of the forms of a page, but for the one that logs out."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, Any] = {}
        self.inside, self.text, self.select = False, "", ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        name = said.get("name", "")
        if tag == "form":
            self.inside = said.get("method") == "post" and "logout" not in said.get("action", "")
        elif not self.inside or name == "csrfmiddlewaretoken":
            pass
        elif tag == "textarea":
            self.text = name
            self.fields[name] = ""
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select and ("selected" in said or self.select not in self.fields):
            self.fields[self.select] = said.get("value", "")
        elif tag == "input" and name and self._is_sent(said):
            self.fields[name] = said.get("value", "on" if said.get("type") == "checkbox" else "")

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

    def _is_sent(self, said: dict[str, str]) -> bool:
        return said.get("type") not in ("submit", "file") and (
            said.get("type") not in ("checkbox", "radio") or "checked" in said
        )


def form_of(http: HttpClient, name: str, rows: dict[str, Any]) -> dict[str, Any]:
    """Return what a browser would send to a page: of one that is no page itself, what the page that calls it sends."""
    page = name.replace("_add_preview", "_add").replace("_preview", "_change")
    html = http.get(address(page, rows)).content.decode(errors="replace")  # one is an archive
    return Forms(html).fields


def sent(
    http: HttpClient, method: str, url: str, data: Any = None, body: bytes = b"", media_type: str = FORM
) -> HttpResponse:
    """Send a request whose effect is undone; an exception is one here too."""
    with transaction.atomic():
        answer = http.generic(method, url, body, media_type) if data is None else http.post(url, data)
        transaction.set_rollback(True)
    return answer


def refused_or_done(response: HttpResponse) -> None:
    """Check that a request was answered, and not by a failure."""
    assert response.status_code in (200, 302, 400, 403, 404, 405, 413), (response.status_code, response.content[:300])


@cache
def parameters() -> list[str]:
    """Return the names of all parameters that our pages read from an address."""
    root = Path(settings.BASE_DIR)
    code = "\n".join(
        file.read_text() for app in ("registry", "gateway", "core", "analytics") for file in (root / app).rglob("*.py")
    )
    return sorted({"before", "after", *re.findall(r'request\.GET(?:\.get(?:list)?\(|\[)"([\w-]+)"', code)})


def few(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield some names at a time: a form tells of each field by itself, so a few may be odd at once."""
    for start in range(0, len(names), 3):
        yield names[start : start + 3]


def with_odd_rows(url: str) -> Iterator[str]:
    """Yield the address of a page with other rows than there are."""
    match = resolve(url)
    for value in (*match.args, *match.kwargs.values()):
        for odd in (*ODD_PATHS, "0", "%00", "a" * 300) if isinstance(value, str | int) else ():
            yield url.replace(f"/{value}/", f"/{odd}/")


@contextmanager
def each_undone(http: HttpClient, name: str) -> Iterator[None]:
    """Undo what was done to a page, also to the session; a failure names the page."""
    try:
        with transaction.atomic():
            http.cookies.clear()  # messages among them
            http.force_login(User.objects.get(username="admin"))
            yield
            transaction.set_rollback(True)
    except Exception as error:
        error.add_note(f"page: {name}")
        raise


def test_odd_rows_in_an_address_are_answered(rows: dict[str, Any], admin_client: HttpClient) -> None:
    for name in OWN:
        with each_undone(admin_client, name):
            for url in with_odd_rows(address(name, rows).partition("?")[0]):
                refused_or_done(sent(admin_client, "GET", url))
                refused_or_done(sent(admin_client, "POST", url))


@pytest.mark.parametrize("part", range(PARTS))
def test_odd_parameters_are_answered_and_change_nothing(
    rows: dict[str, Any], admin_client: HttpClient, part: int
) -> None:
    before = stored()

    for number, name in list(enumerate(OWN))[part::PARTS]:
        with each_undone(admin_client, name):
            url = address(name, rows).partition("?")[0]
            for value in ODD:
                refused_or_done(admin_client.get(url, dict.fromkeys(parameters(), value)))
            first = number % len(ODD)
            odd = cycle(ODD[first:] + ODD[:first])  # each parameter gets another one with every page
            for some in few(parameters()):
                refused_or_done(admin_client.get(url, {parameter: next(odd) for parameter in some}))
            refused_or_done(admin_client.get(url, dict.fromkeys(parameters(), "1")))
            surrogates = "&".join(f"{parameter}=%ED%A0%80" for parameter in parameters())
            refused_or_done(admin_client.get(f"{url}?{surrogates}"))
            assert stored() == before, name


@pytest.mark.parametrize("part", range(PARTS))
def test_only_post_changes_anything(rows: dict[str, Any], admin_client: HttpClient, part: int) -> None:
    before = stored()

    for name in [*OWN, *FORMS][part::PARTS]:
        with each_undone(admin_client, name):
            url, meant = address(name, rows).partition("?")[0], MEANT
            if "A" in (role_matrix.may(name)[0] or ""):
                meant = form_of(admin_client, name, rows) | MEANT
            refused_or_done(
                admin_client.get(url, {key: value for key, value in meant.items() if len(str(value)) < 1_000})
            )
            for method in ODD_METHODS:
                body = "&".join(f"{key}={value}" for key, value in MEANT.items())
                answer = admin_client.generic(method, url, body, content_type="application/x-www-form-urlencoded")
                answered(answer, 200, 302, 400, 403, 404, 405)
            if name != "logout":
                assert stored() == before, name


@pytest.mark.parametrize("part", range(PARTS))
def test_odd_values_of_a_form_are_answered(rows: dict[str, Any], admin_client: HttpClient, part: int) -> None:
    for name in SENT[part::PARTS]:
        with each_undone(admin_client, name):
            url, fields, odd = address(name, rows), form_of(admin_client, name, rows), cycle(ODD)
            for some in few([field for field in fields if not LATER_ROW.search(field)]):
                refused_or_done(sent(admin_client, "POST", url, fields | {field: next(odd) for field in some}))
            for value in ODD:
                refused_or_done(sent(admin_client, "POST", url, dict.fromkeys(fields, value)))
            twice = {field: [value, value] for field, value in fields.items()}
            refused_or_done(sent(admin_client, "POST", url, twice))


def test_odd_bodies_are_answered(rows: dict[str, Any], admin_client: HttpClient) -> None:
    for name in SENT:
        with each_undone(admin_client, name):
            for body, media_type in ODD_BODIES:
                refused_or_done(sent(admin_client, "POST", address(name, rows), body=body, media_type=media_type))


def test_odd_numbers_of_rows_in_a_form_are_answered(rows: dict[str, Any], admin_client: HttpClient) -> None:
    for name in (name for name in SENT if name.endswith(("_add", "_change", "_preview"))):
        with each_undone(admin_client, name):
            url, fields = address(name, rows), form_of(admin_client, name, rows)
            for prefix in {field.removesuffix("-TOTAL_FORMS") for field in fields if field.endswith("-TOTAL_FORMS")}:
                total, initial = f"{prefix}-TOTAL_FORMS", f"{prefix}-INITIAL_FORMS"
                for said in ({total: "abc"}, {total: "30"}, {initial: "30"}, {initial: "-1", f"{prefix}-0-id": BIG}):
                    refused_or_done(sent(admin_client, "POST", url, fields | said))
                without = {key: value for key, value in fields.items() if key != total}
                refused_or_done(sent(admin_client, "POST", url, without))


def test_odd_files_are_refused_with_a_sentence(rows: dict[str, Any], admin_client: HttpClient) -> None:
    url, before = reverse("admin:registry_op_files"), stored()

    for file, content in ODD_FILES:
        for _ in range(2):
            answer = admin_client.post(url, {"chosen": SimpleUploadedFile(file, content, MULTIPART_CONTENT)})
            assert answer.status_code == 200, (file, content[:30])
            assert answer.context["form"].errors, (file, content[:30])
        admin_client.post(url, {"content": content.decode("latin-1"), "seen": file})

        assert stored() == before, (file, content[:30])


def test_without_a_token_no_page_does_anything(rows: dict[str, Any], admin_client: HttpClient) -> None:
    http = HttpClient(enforce_csrf_checks=True)
    http.cookies = admin_client.cookies
    before = stored()

    for name in (*OWN, *role_matrix.OF_MODELS):
        if role_matrix.may(name)[1] is not None:
            assert http.post(address(name, rows), MEANT).status_code == 403, name

    assert stored() == before


@pytest.mark.parametrize("letter", PEOPLE)
def test_who_may_not_send_a_form_changes_nothing_by_sending_it(
    rows: dict[str, Any], admin_client: HttpClient, client: HttpClient, person: Any, letter: str
) -> None:
    may_not = [name for name in SENT if letter not in (role_matrix.may(name)[1] or "")]
    forms = {name: form_of(admin_client, name, rows) | MEANT for name in may_not}
    client.force_login(person)
    before = stored()

    for name, form in forms.items():
        answered(client.post(address(name, rows), form), 302, 403, 404)

    assert stored() == before
