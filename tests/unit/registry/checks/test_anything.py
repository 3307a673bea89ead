"""Whatever can be published can be checked, in time."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry import checks
from registry.jsonschema import schemas
from tests.support.check_findings import context
from tests.support.cpu_budget import examples, within
from tests.support.op_entries import op, schema
from tests.support.schema_samples import SCHEMAS

TEXTS = st.text(max_size=60) | st.from_regex(
    r"(Send|Never|[a-z]{1,4}_[a-z]{1,4}|a\.[a-z]{1,3}|[.;,`/ ]| ){1,12}", fullmatch=True
)


@settings(max_examples=examples(75))
@given(SCHEMAS, TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=2))
def test_any_op_that_can_be_published_can_be_checked(
    given_schema: dict[str, Any], text: str, dos: list[str], donts: list[str]
) -> None:
    entry = op("a.b", description=text, notes=text, policy={"do": dos, "dont": donts}, parameters_schema=given_schema)
    entry["summary"] = text or "Said"
    others = context(op("a.c"), entry, imported=("a.b",))

    found = checks.check_entry(entry, others)

    assert {finding.rule for finding in found} <= set(checks.RULES)
    assert all(finding.message and finding.fix and finding.op == "a.b" for finding in found)
    if schemas.find_problems(given_schema):
        assert any(finding.is_blocking for finding in found)


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
def test_no_text_keeps_a_check_busy(text: str) -> None:
    named = {f"argument_{number}": {"type": "number", "description": text[:200]} for number in range(200)}
    named |= {"priority": {"type": "integer", "description": text}, "due_at": {"type": "string", "description": text}}
    entry = op(
        "a.b", summary=text, description=text, policy={"do": [text], "dont": [text]}, parameters_schema=schema(**named)
    )
    prepared = context(op("a.c"), entry, imported=("a.b",))
    snapshot = {"groups": [], "ops": list(prepared.ops.values())}

    # 0.3 where nothing else runs; what is quadratic takes minutes.
    within(3, lambda: checks.find_warnings(snapshot, {}, imported=("a.b",)))
