from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contracts.envelopes import EnvelopeResponse
from gateway.recording import redaction
from registry.catalog.model import CatalogOp

SCHEMA = {
    "type": "object",
    "properties": {
        "token": {"type": "string", "writeOnly": True},
        "person": {"type": "object", "properties": {"phone": {"type": "string", "x-redact": True}}},
        "name": {"type": "string"},
    },
}
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "pin"]), inner, max_size=3),
    max_leaves=10,
)


def op(schema: dict[str, Any] | None = None, **fields: Any) -> CatalogOp:
    return CatalogOp(op="crm.person.add", tool_name="add", kind="write", summary="", schema=schema or SCHEMA, **fields)


def answer(result: Any) -> EnvelopeResponse:
    return EnvelopeResponse(200, {"op": "x", "ok": True, "result": result, "meta": {}})


def kept(args: dict[str, Any], result: Any = None) -> Any:
    return redaction.build_content(op(), args, answer(result or {}))


@pytest.fixture(autouse=True)
def _switched_on(settings: Any) -> None:
    settings.GATEWAY_CONTENT_DAYS = 1


def test_nothing_is_kept_by_default(settings: Any) -> None:
    settings.GATEWAY_CONTENT_DAYS = 0

    assert kept({"name": "Ana"}) is None


def test_what_the_schema_marks_is_blacked_out_at_every_level_of_args_and_result() -> None:
    args = {"token": "t0k", "name": "Ana", "person": {"phone": "123", "name": "B"}}

    assert kept(args, {"people": [{"phone": "123", "id": 1}]}) == {
        "args": {"token": "[redacted]", "name": "Ana", "person": {"phone": "[redacted]", "name": "B"}},
        "result": {"people": [{"phone": "[redacted]", "id": 1}]},
    }


@pytest.mark.parametrize(
    "secret",
    [
        {"$ref": "#/$defs/secret"},
        {"$ref": "#/$defs/again"},  # as it leads back, too
        {"anyOf": [{"type": "string", "writeOnly": True}, {"type": "null"}]},  # an optional secret of pydantic
        {"type": "array", "items": {"type": "string", "x-redact": True}},
        {"type": "object", "additionalProperties": {"type": "string", "x-redact": True}},
    ],
)
def test_a_mark_counts_wherever_in_the_schema_of_a_member_it_stands(secret: dict[str, Any]) -> None:
    marked, again = (
        {"type": "string", "writeOnly": True},
        {"anyOf": [{"$ref": "#/$defs/again"}, True, {"$ref": "#/$defs/secret"}]},
    )
    defs = {"secret": marked, "again": again}
    schema = {"type": "object", "properties": {"pin": secret, "name": {"type": "string"}}, "$defs": defs}

    found = redaction.build_content(op(schema), {"pin": ["123"], "name": "Ana"}, answer({}))

    assert found == {"args": {"pin": "[redacted]", "name": "Ana"}, "result": {}}


@pytest.mark.parametrize(
    "args",
    [
        {"accessToken": "s3cret"},
        {"Access-Token": "s3cret"},
        {"pat": "s3cret"},
        {"login": {"key": "s3cret"}},
        {"acess_token": "s3cret"},
    ],
)
def test_a_secret_is_one_however_it_is_spelt(args: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"access_token": {"type": "string", "writeOnly": True}}}
    aliases = {"pat": "access_token", "login.key": "access_token"}

    assert "s3cret" not in str(redaction.build_content(op(schema, argument_aliases=aliases), args, answer({})))


def test_what_is_too_large_is_not_kept() -> None:
    assert set(kept({"name": "x" * redaction.MAX_CONTENT_BYTES})) == {"too_large"}


def test_of_an_op_that_is_not_there_nothing_is_kept() -> None:
    assert redaction.build_content(None, {"name": "Ana"}, answer({})) is None


@given(value=VALUES)
def test_no_secret_is_left_wherever_it_stands(value: Any) -> None:
    found = redaction.redact({"x": value}, frozenset({"pin"}))

    assert all(each == redaction.REDACTED for each in _pins(found))
    assert redaction.redact(value, frozenset()) == value


def _pins(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [pin for each in value for pin in _pins(each)]
    if isinstance(value, dict):
        return [pin for name, each in value.items() for pin in ([each] if name == "pin" else _pins(each))]
    return []
