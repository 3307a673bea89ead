"""Queries of the poller: their SQL is built once, and their rows are always those of now."""

from typing import Any

import pytest
from django.db.models import QuerySet

from core.background.poller import PolledQuery
from registry.models import Connection

pytestmark = pytest.mark.django_db


def test_polled_query_is_built_once_and_reads_each_time() -> None:
    built: list[int] = []

    def build() -> QuerySet[Connection, Any]:
        built.append(1)
        return Connection.objects.filter(name__startswith="polled").order_by("name").values_list("name", "kind")

    query = PolledQuery(build)

    assert built == []
    assert query.fetch_rows() == []
    Connection.objects.create(name="polled_a")
    assert query.fetch_rows() == [("polled_a", "embedded")]
    Connection.objects.filter(name="polled_a").update(name="polled_b")
    assert query.fetch_rows() == [("polled_b", "embedded")]
    assert built == [1]
