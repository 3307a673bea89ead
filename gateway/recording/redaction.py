"""Args and results that operation events store: none, unless *Stored contents* in the console keeps them some days.

Values that a schema marks as secret (writeOnly or x-redact) are never stored. Any member with the name of a secret is
redacted, at every level and in every spelling, and so is what looks private in a text (redaction_patterns).
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import orjson

from analytics.events import stored_contents
from analytics.events.redaction_patterns import REDACTED_MARK, redact_text
from core.text import english, json_text
from gateway.arguments.unwrap_args import MAX_NAME_LENGTH
from gateway.contracts.envelopes import EnvelopeResponse
from registry.catalog.model import CatalogOp
from registry.checks import text_locations
from registry.jsonschema import dialect
from registry.jsonschema.dialect import Schema

REDACTED = f"{REDACTED_MARK}]"
MARKS = ("writeOnly", "x-redact")
MAX_CONTENT_BYTES = 20_000  # bytes of an event's args and result as JSON; larger content is not stored
MAX_QUERY_LENGTH = 1_000  # characters of a search; search also ignores the rest


def build_content(op: CatalogOp | None, args: dict[str, Any], answer: EnvelopeResponse) -> dict[str, Any] | None:
    """Return {args, result} as an event stores them; None if content is off or the op is unknown.

    Returns {too_large: bytes} for content over the limit.
    """
    rules = stored_contents.get_rules()
    if not rules.days or op is None:
        return None
    content = {"args": args} | ({"result": answer.envelope["result"]} if answer.envelope["ok"] else {})
    size = len(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS))
    if size > MAX_CONTENT_BYTES:
        return {"too_large": size}
    secret_names = _find_secret_names(op)
    names_in_args = secret_names | _find_unknown_names(op, args) if secret_names else secret_names
    return {
        part: redact(value, names_in_args if part == "args" else secret_names, rules.redacted)
        for part, value in content.items()
    }


def build_search_content(query: str | None, found: Sequence[str]) -> dict[str, Any] | None:
    """Return what an event of a search stores: its words and the paths found. None for other help, or if it is off."""
    rules = stored_contents.get_rules()
    if query is None or not rules.days:
        return None
    words = redact_text(query[:MAX_QUERY_LENGTH], rules.redacted)
    return {"args": {"query": words}, "result": {"items": list(found)}}


def redact(value: Any, secret_names: frozenset[str], patterns: Collection[str] = ()) -> Any:
    """Return a JSON value with the members of these names redacted, and texts in which these patterns find something.

    At every level.
    """
    if isinstance(value, dict):
        return {
            name: REDACTED
            if _normalise_name(name) in secret_names or name in secret_names
            else redact(each, secret_names, patterns)
            for name, each in value.items()
        }
    if isinstance(value, str):
        return redact_text(value, patterns) if patterns else value
    return [redact(each, secret_names, patterns) for each in value] if isinstance(value, list) else value


def _normalise_name(name: str) -> str:
    """Return a name in the spelling that normalise accepts: accessToken becomes access_token."""
    return english.to_snake_case(name) if len(name) <= MAX_NAME_LENGTH else name


def _find_secret_names(op: CatalogOp) -> frozenset[str]:
    """Return the names of an op's secrets and their aliases: args are stored under the names that were sent."""
    if not any(mark in str(op.schema) for mark in MARKS):
        return frozenset()
    marked_names = _find_marked_names(json_text.dump(op.schema))
    return marked_names | {
        alias.rpartition(".")[2] for alias, target in op.argument_aliases.items() if target in marked_names
    }


def _find_unknown_names(op: CatalogOp, args: dict[str, Any]) -> frozenset[str]:
    """Return the names in args that the op does not know: one may be a misspelt secret."""
    heads = {alias.partition(".")[0] for alias in op.argument_aliases}
    known = heads | set(op.arguments) | op.display_only
    return frozenset(name for name in args if name not in known and _normalise_name(name) not in known)


@lru_cache(maxsize=1_000)
def _find_marked_names(schema: bytes) -> frozenset[str]:
    root = json_text.load(schema)
    property_sets = [
        part["properties"]
        for part, _ in text_locations.iter_subschemas(root)
        if isinstance(part.get("properties"), dict)
    ]
    return frozenset(
        name for properties in property_sets for name, each in properties.items() if _is_marked(each, root)
    )


def _is_marked(schema: Any, root: Schema) -> bool:
    """Whether a schema is marked as secret, or any part of it: an alternative, a $ref target or a list item."""
    stack, seen = [schema], set[int]()
    while stack:
        part = stack.pop()
        if not isinstance(part, dict) or id(part) in seen:  # a $ref may be circular
            continue
        if any(part.get(mark) is True for mark in MARKS):
            return True
        seen.add(id(part))
        stack += [*dialect.iter_in_place_subschemas(part, root), *dialect.iter_member_subschemas(part)]
    return False
