"""Document trees, created from nested titles and read back as nested titles."""

from typing import Any

from tests.support.rows.factories import DocumentFactory
from workspace.models import Document, Project

Titles = dict[str, Any]  # {"A": {"B": {}}} means that B is below A


def create_documents(project: Project, titles: Titles, parent: Document | None = None) -> dict[str, Document]:
    """Create documents in the tree of their titles, and return them by title."""
    documents = {}
    for title, below in titles.items():
        documents[title] = DocumentFactory(project=project, title=title, parent=parent)
        documents |= create_documents(project, below, documents[title])
    return documents


def read_titles(project: Project, parent: Document | None = None) -> Titles:
    """Return the tree of titles. Fails unless siblings have the positions 0, 1, 2 …"""
    siblings = list(Document.objects.filter(project=project, parent=parent, deleted_at=None).order_by("position"))
    assert [each.position for each in siblings] == list(range(len(siblings)))
    return {each.title: read_titles(project, each) for each in siblings}


def read_dense_titles(project: Project) -> Titles:
    """Return the tree of titles. Fails unless it contains every document that is not deleted."""
    titles = read_titles(project)
    assert _count_titles(titles) == Document.objects.filter(project=project, deleted_at=None).count()
    return titles


def _count_titles(titles: Titles) -> int:
    return sum(1 + _count_titles(below) for below in titles.values())
