"""Ops that nothing can run: what each lacks, and which ones need not run."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from registry import checks
from registry.catalog import switches
from registry.models import Connection
from tests.support.rows.op_entries import build_op_entry
from tests.support.rows.switches import create_switch
from tests.support.upstreams import any_upstream

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({}, "no connection is set"),
        ({"connection": "nowhere"}, 'the connection "nowhere" does not exist'),
        ({"connection": "workspace"}, 'the connection "workspace" has no handler for the tool "a_b"'),
        ({"connection": "workspace", "tool_name": "list_onto_tasks"}, ""),
        ({"connection": any_upstream.CONNECTION}, ""),
        ({"status": "retired"}, ""),
    ],
)
def test_finding_says_what_an_active_op_lacks(fields: dict[str, Any], missing: str) -> None:
    Connection.objects.create(name="workspace")
    any_upstream.get_or_create_connection()

    findings = checks.find_unrunnable_ops([build_op_entry("a.b", **fields)])

    assert [(finding.op, finding.field, finding.rule, finding.message) for finding in findings] == (
        [("a.b", "connection", "cannot_run", f"Cannot run: {missing}.")] if missing else []
    )
    assert all(finding.is_blocking for finding in findings)


def test_switched_off_op_need_not_run() -> None:
    create_switch("a")

    findings = checks.find_unrunnable_ops([build_op_entry("a.b"), build_op_entry("c.d")])

    assert [finding.op for finding in findings] == ["c.d"]


def test_connections_are_read_once_for_all_ops(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    switches.get_switches()

    with django_assert_num_queries(3):
        assert len(checks.find_unrunnable_ops(build_op_entry(f"a.b{number}") for number in range(50))) == 50
