"""Trees of documents, for tests: made from nested titles, and told as such."""

from typing import Any

from tests.support.factories import DocumentFactory
from workspace.models import Document, Project

Titles = dict[str, Any]  # {"A": {"B": {}}}: B lies under A


def plant(project: Project, titles: Titles, parent: Document | None = None) -> dict[str, Document]:
    """Make documents that lie as their titles do, and return them by title."""
    made = {}
    for title, below in titles.items():
        made[title] = DocumentFactory(project=project, title=title, parent=parent)
        made |= plant(project, below, made[title])
    return made


def told(project: Project, parent: Document | None = None) -> Titles:
    """Return the titles as they lie, once siblings are found to stand at 0, 1, 2 …"""
    alive = list(Document.objects.filter(project=project, parent=parent, deleted_at=None).order_by("position"))
    assert [each.position for each in alive] == list(range(len(alive)))
    return {each.title: told(project, each) for each in alive}


def dense(project: Project) -> Titles:
    """Return what `told` does, once every document that is not deleted is found to be in the tree."""
    found = told(project)
    assert _number(found) == Document.objects.filter(project=project, deleted_at=None).count()
    return found


def _number(titles: Titles) -> int:
    return sum(1 + _number(below) for below in titles.values())
