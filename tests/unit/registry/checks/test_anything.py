"""Every publishable op can be checked in reasonable time."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry import checks
from registry.jsonschema import schema_check
from tests.support.cpu_budget import assert_cpu_seconds, examples
from tests.support.rows.check_findings import build_check_context
from tests.support.rows.op_entries import build_op_entry, build_schema
from tests.support.values.schema_samples import SCHEMAS

TEXTS = st.text(max_size=60) | st.from_regex(
    r"(Send|Never|[a-z]{1,4}_[a-z]{1,4}|a\.[a-z]{1,3}|[.;,`/ ]| ){1,12}", fullmatch=True
)


@settings(max_examples=examples(75))
@given(SCHEMAS, TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=2))
def test_checks_accept_every_publishable_op(
    given_schema: dict[str, Any], text: str, dos: list[str], donts: list[str]
) -> None:
    entry = build_op_entry(
        "a.b", description=text, notes=text, policy={"do": dos, "dont": donts}, parameters_schema=given_schema
    )
    entry["summary"] = text or "Said"
    others = build_check_context(build_op_entry("a.c"), entry, imported=("a.b",))

    findings = checks.check_entry(entry, others)

    assert {finding.rule for finding in findings} <= set(checks.RULES)
    assert all(finding.message and finding.fix and finding.op == "a.b" for finding in findings)
    if schema_check.find_problems(given_schema):
        assert any(finding.is_blocking for finding in findings)


@pytest.mark.parametrize(
    "text",
    [
        "send " + "a_b_c_" * 20_000 + "x(",
        " ".join(f"name_{number}" for number in range(5_000)),
        "a." * 50_000,
        "1 " * 50_000,
        "in " * 50_000,
        "high " * 20_000 + "1",
        "e.g. " * 20_000,
        "\u202e" * 50_000,
        "not only " * 10_000,
        ". ".join(f"name_{number}" for number in range(5_000)),
        ". ".join(f"a.name_{number}" for number in range(5_000)),
    ],
    ids=range(11),
)
def test_checks_take_linear_time_on_any_text(text: str) -> None:
    named = {f"argument_{number}": {"type": "number", "description": text[:200]} for number in range(200)}
    named |= {"priority": {"type": "integer", "description": text}, "due_at": {"type": "string", "description": text}}
    entry = build_op_entry(
        "a.b",
        summary=text,
        description=text,
        policy={"do": [text], "dont": [text]},
        parameters_schema=build_schema(**named),
    )
    prepared = build_check_context(build_op_entry("a.c"), entry, imported=("a.b",))
    snapshot = {"groups": [], "ops": list(prepared.ops.values())}

    # 0.3 on an idle machine; a quadratic check takes minutes.
    assert_cpu_seconds(3, lambda: checks.find_warnings(snapshot, {}, imported=("a.b",)))
