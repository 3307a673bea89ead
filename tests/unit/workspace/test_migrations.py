"""What a migration does with existing rows."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps

from tests.support.document_forest import read_dense_titles
from tests.support.factories import MADE_AT, DocumentFactory, ProjectFactory
from workspace.models import Document

pytestmark = pytest.mark.both_databases

positions = import_module("workspace.migrations.0005_document_positions")


def test_migration_puts_old_documents_at_the_root_oldest_first(db: None) -> None:
    project, other = ProjectFactory(), ProjectFactory()
    documents: list[Any] = [
        DocumentFactory(project=project, title=title, created_at=MADE_AT.replace(hour=hour))
        for title, hour in (("C", 12), ("A", 10), ("B", 11))
    ]
    gone = DocumentFactory(project=project, deleted_at=MADE_AT)
    DocumentFactory(project=other, title="X")
    Document.objects.filter(pk__in=[each.pk for each in documents]).update(position=None)
    DocumentFactory(project=project, title="New")  # written by the new release during the migration

    positions.place(apps, None)
    before = list(Document.objects.order_by("pk").values())
    positions.place(apps, None)

    assert list(read_dense_titles(project)) == ["New", "A", "B", "C"]
    assert list(read_dense_titles(other)) == ["X"]
    assert Document.objects.get(pk=gone.pk).position is None
    assert list(Document.objects.order_by("pk").values()) == before
