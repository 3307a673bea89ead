"""Queries are those that Django would make, with the columns of models from the cache."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import Count, Exists, F, Field, FilteredRelation, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Upper
from django.db.utils import ConnectionHandler
from django.test.utils import CaptureQueriesContext

from core.database.column_cache import ColumnCacheMixin
from registry.models import Connection, Op, OpAlias

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

ops, aliases = Op.objects.order_by("op"), OpAlias.objects.filter(op=OuterRef("pk"))
one = Op.objects.filter(op="shop.cart.get").order_by()

QUERIES: dict[str, Callable[[], "QuerySet[Any]"]] = {
    "all rows": lambda: ops.all(),
    "by key": lambda: ops.filter(pk=Op.objects.get(op="shop.cart.get").pk),
    "annotated": lambda: ops.annotate(has_aliases=Exists(aliases), loud=Upper("summary")),
    "annotation that is always false": lambda: ops.annotate(none=Exists(aliases.none())),
    "annotation left out": lambda: ops.alias(loud=Upper("summary")).filter(loud="CARTS"),
    "condition on another table": lambda: ops.filter(connection__name="shop"),
    "column of another table": lambda: ops.annotate(of=F("connection__name")).order_by("of", "-op"),
    "counted": lambda: ops.annotate(number=Count("aliases")).filter(number__gt=0),
    "filtered relation": lambda: ops.annotate(
        short=FilteredRelation("aliases", condition=Q(aliases__name="shop.cart.gets"))
    ).filter(short__isnull=False),
    "distinct": lambda: ops.filter(aliases__name__startswith="shop").distinct(),
    "slice": lambda: ops[1:2],
    "locked": lambda: ops.select_for_update(of=("self",)),
    "related row": lambda: ops.select_related("connection"),
    "some columns": lambda: ops.only("op", "summary"),
    "without a column": lambda: ops.defer("parameters_schema").annotate(loud=Upper("summary")),
    "values": lambda: ops.values("op", "connection__name"),
    "values and annotation": lambda: ops.annotate(loud=Upper("summary")).values_list("loud", "op"),
    "union": lambda: one.union(Op.objects.filter(op="shop.cart.list").order_by()).order_by("op"),
    "subquery": lambda: ops.filter(pk__in=one),
    "column of a subquery": lambda: ops.annotate(alias_name=Subquery(aliases.values("name")[:1])),
    "extra": lambda: ops.extra(select={"op_again": "op"}),  # type: ignore[attr-defined]
    "other rows through a row": lambda: Connection.objects.get(name="shop").ops.order_by("op"),
}


@pytest.fixture(autouse=True)
def rows() -> None:
    shop = Connection.objects.create(name="shop")
    for op in ("shop.cart.get", "shop.cart.list"):
        row = Op.objects.create(op=op, tool_name=op, kind="read", summary="Carts", connection=shop, keywords=["cart"])
        OpAlias.objects.create(op=row, name=f"{op}s")


@pytest.mark.parametrize("build_query", QUERIES.values(), ids=QUERIES)
def test_query_and_rows_are_those_of_django(
    build_query: "Callable[[], QuerySet[Any]]", monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> list[Any]:
        return [row if isinstance(row, dict | tuple) else dict(vars(row), _state=None) for row in build_query()]

    read()  # the columns are in the cache from here on
    with CaptureQueriesContext(connection) as ours:
        rows = read()
    monkeypatch.setattr(ColumnCacheMixin, "_find_columns", lambda _: None)
    with CaptureQueriesContext(connection) as theirs:
        expected = read()

    assert [each["sql"] for each in ours] == [each["sql"] for each in theirs] != []
    assert rows == expected
    assert rows


def test_columns_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    list(ops.all())
    compiled: list[str] = []
    monkeypatch.setattr(
        Field, "select_format", lambda field, _, sql, params: compiled.append(field.name) or (sql, params)
    )

    assert list(ops.annotate(loud=Upper("summary")))
    assert compiled == ["summary"]  # of the annotation


def test_values_are_converted_by_the_connection_of_the_thread() -> None:
    """What converts a value belongs to a connection, and uses its time zone."""
    list(ops.all())
    other = ConnectionHandler(connections.settings)["default"]
    compiler = other.ops.compiler("SQLCompiler")(ops.query.clone(), other, "default")
    compiler.setup_query()

    converters = compiler.get_converters([expression for expression, _, _ in compiler.select])
    bound = [each.__self__ for found, _ in converters.values() for each in found if hasattr(each, "__self__")]
    assert all(each in (other.ops, *Op._meta.concrete_fields) for each in bound)
