"""The guides of docs/ can be read in the console, and each page links to what they say about it."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client, RequestFactory
from django.urls import reverse

from console import sidebar
from console.system import guides
from tests.support.loops import for_each

BASE = "/admin/guides/"


class Addresses(HTMLParser):
    """The ids, links and pictures of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.pictures: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        if tag == "a":
            self.links.append(values.get("href") or "")
        if tag == "img":
            self.pictures.append(values.get("src") or "")


def read_article(name: str) -> Addresses:
    return Addresses(guides.read_guide(name).html)


def find_broken(links: list[str], here: str) -> list[str]:
    """Return the links of a guide that lead nowhere."""
    broken = []
    for link in links:
        if re.match("https?://", link):
            continue
        path, _, anchor = link.partition("#")
        name = path.removeprefix(BASE).rstrip("/") or here
        if name not in guides.list_names() or (anchor and anchor not in read_article(name).ids):
            broken.append(link)
    return broken


@for_each("name", guides.list_names())
def test_links_and_pictures_of_a_guide_lead_somewhere(name: str) -> None:
    article = read_article(name)

    assert find_broken(article.links, name) == []
    assert [each for each in article.pictures if not finders.find(each.removeprefix("/static/"))] == []


def test_every_guide_of_the_repository_is_listed() -> None:
    files = [*guides.FOLDER.glob("*.md"), *guides.FOLDER.glob("reference/*.md")]
    files.remove(guides.FOLDER / "index.md")  # lists the guides on the site, as a page of the console does here

    assert {str(file.relative_to(guides.FOLDER).with_suffix("")) for file in files} == set(guides.list_names())


def test_each_page_links_to_its_guide(admin_user: Any) -> None:
    request = RequestFactory().get("/admin/")
    request.user = admin_user
    [group] = sidebar.list_sections(request)
    tabs = [tab for item in group["items"] for tab in item["tabs"]]

    assert find_broken([tab["guide"] for tab in tabs if tab["title"] != "Guides"], "") == []


def test_a_guide_is_read_in_the_admin(admin_client: Client) -> None:
    contents = admin_client.get(reverse("admin:guides")).content.decode()
    page = admin_client.get(f"{BASE}admin-guide/")
    releases = admin_client.get("/admin/registry/release/").content.decode()

    assert f'href="{BASE}rollout-guide/"' in contents
    assert page.content.decode().count("Console guide</p>") == 1
    assert '<h2 id="review-and-publish">Review and publish</h2>' in page.content.decode()
    assert f'href="{BASE}admin-guide/#undo-a-release"' in releases
    assert Client().get(f"{BASE}admin-guide/").status_code == 302  # nobody is signed in


@for_each("name", ["nothing", "../README", "reference/../../README", "adr/0001", "admin-guide.md"])
def test_other_files_are_not_shown(admin_client: Client, name: str) -> None:
    assert admin_client.get(f"{BASE}{name}/").status_code == 404


def test_text_of_a_guide_is_not_html(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "files.md").write_text("# Files\n\n<script>alert(1)</script> and [this](javascript:alert(1))\n")
    monkeypatch.setattr(guides, "FOLDER", tmp_path)

    html = guides.read_guide.__wrapped__("files").html

    assert "<script" not in html
    assert "href" not in html
