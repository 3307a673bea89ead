from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.events import stored_contents
from analytics.events.redaction_patterns import redact_text
from analytics.events.stored_contents import ALL_PATTERNS, ContentRules
from gateway.contracts.envelopes import EnvelopeResponse
from gateway.recording import redaction
from registry.catalog.model import CatalogOp
from tests.support.growth import assert_linear

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


def build_op(schema: dict[str, Any] | None = None, **fields: Any) -> CatalogOp:
    return CatalogOp(op="crm.person.add", tool_name="add", kind="write", summary="", schema=schema or SCHEMA, **fields)


def build_response(result: Any) -> EnvelopeResponse:
    return EnvelopeResponse(200, {"op": "x", "ok": True, "result": result, "meta": {}})


def build_content(args: dict[str, Any], result: Any = None) -> Any:
    return redaction.build_content(build_op(), args, build_response(result or {}))


@pytest.fixture(autouse=True)
def _content_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_contents, "_rules", ContentRules(days=1))


def test_content_is_not_stored_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_contents, "_rules", ContentRules())

    assert build_content({"name": "Ana"}) is None


def test_marked_values_are_redacted_at_every_level() -> None:
    args = {"token": "t0k", "name": "Ana", "person": {"phone": "123", "name": "B"}}

    assert build_content(args, {"people": [{"phone": "123", "id": 1}]}) == {
        "args": {"token": "[redacted]", "name": "Ana", "person": {"phone": "[redacted]", "name": "B"}},
        "result": {"people": [{"phone": "[redacted]", "id": 1}]},
    }


@pytest.mark.parametrize(
    "pin_schema",
    [
        {"$ref": "#/$defs/secret"},
        {"$ref": "#/$defs/again"},  # also through a recursive $ref
        {
            "anyOf": [{"type": "string", "writeOnly": True}, {"type": "null"}]
        },  # an optional secret as pydantic writes it
        {"type": "array", "items": {"type": "string", "x-redact": True}},
        {"type": "object", "additionalProperties": {"type": "string", "x-redact": True}},
    ],
)
def test_value_is_redacted_wherever_its_schema_has_the_mark(pin_schema: dict[str, Any]) -> None:
    secret_schema, recursive_schema = (
        {"type": "string", "writeOnly": True},
        {"anyOf": [{"$ref": "#/$defs/again"}, True, {"$ref": "#/$defs/secret"}]},
    )
    defs = {"secret": secret_schema, "again": recursive_schema}
    schema = {"type": "object", "properties": {"pin": pin_schema, "name": {"type": "string"}}, "$defs": defs}

    content = redaction.build_content(build_op(schema), {"pin": ["123"], "name": "Ana"}, build_response({}))

    assert content == {"args": {"pin": "[redacted]", "name": "Ana"}, "result": {}}


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
def test_secret_is_redacted_in_every_spelling_of_its_name(args: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"access_token": {"type": "string", "writeOnly": True}}}
    aliases = {"pat": "access_token", "login.key": "access_token"}

    assert "s3cret" not in str(
        redaction.build_content(build_op(schema, argument_aliases=aliases), args, build_response({}))
    )


def test_private_parts_of_texts_are_redacted() -> None:
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
    secrets = {
        "e-mail": "Write to ana.b@mail.example.org today",
        "card": "Card 4111 1111 1111 1111, until 12/28",
        "token": f"Authorization: Bearer {jwt}",
        "key": "The key is gw_live_0a1b2c3d4e5f6a7b8c9d",
    }
    harmless = ["due 2026-11-28T10:00:00Z", "id 12345678901234567890", "4111 1111 1111 1112", "task-force"]

    content = build_content({"name": " | ".join(secrets.values()), "person": {"names": harmless}})

    assert content["args"]["name"] == (
        "Write to [redacted e-mail] today | Card [redacted card], until 12/28 | "
        "Authorization: Bearer [redacted token] | The key is [redacted key]"
    )
    assert content["args"]["person"]["names"] == harmless
    assert redaction.build_search_content("mail ana@mail.example.org", [])["args"] == {
        "query": "mail [redacted e-mail]"
    }


@pytest.mark.parametrize("part", ["eyJ", "a.", "a@", "1 ", "sk-", "Bearer ", "-----BEGIN RSA PRIVATE KEY-----"])
def test_patterns_take_linear_time(part: str) -> None:
    assert_linear(lambda text: redact_text(text, ALL_PATTERNS), lambda count: part * count, size=20_000)


def test_only_the_chosen_patterns_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_contents, "_rules", ContentRules(days=1, redacted=("card",)))

    assert build_content({"name": "ana@mail.example.org"})["args"] == {"name": "ana@mail.example.org"}


def test_too_large_content_is_not_stored() -> None:
    assert set(build_content({"name": "x" * redaction.MAX_CONTENT_BYTES})) == {"too_large"}


def test_content_of_an_unknown_op_is_not_stored() -> None:
    assert redaction.build_content(None, {"name": "Ana"}, build_response({})) is None


@given(value=VALUES)
def test_redact_removes_secrets_at_every_depth(value: Any) -> None:
    content = redaction.redact({"x": value}, frozenset({"pin"}))

    assert all(each == redaction.REDACTED for each in _find_pins(content))
    assert redaction.redact(value, frozenset()) == value


def _find_pins(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [pin for each in value for pin in _find_pins(each)]
    if isinstance(value, dict):
        return [pin for name, each in value.items() for pin in ([each] if name == "pin" else _find_pins(each))]
    return []
