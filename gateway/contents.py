"""Args and results that operation events store: none, unless GATEWAY_CONTENT_DAYS sets for how long.

Values that a schema marks as secret (writeOnly or x-redact) are never stored. Any member with the name of a secret is
redacted, at every level and in every spelling.
"""

from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings

from core import nearest
from gateway.envelopes import Answer
from gateway.normalise import MAX_NAME
from registry import keywords
from registry.catalogs import CatalogOp
from registry.checks import places

REDACTED = "[redacted]"
MARKS = ("writeOnly", "x-redact")
LARGEST = 20_000  # bytes of an event's args and result as JSON; larger content is not stored


def kept(op: CatalogOp | None, args: dict[str, Any], answer: Answer) -> dict[str, Any] | None:
    """Return {args, result} as an event stores them; None if content is off or the op is unknown.

    Returns {too_large: bytes} for content over the limit.
    """
    if not settings.GATEWAY_CONTENT_DAYS or op is None:
        return None
    secret = _secret(op)
    found = {"args": redacted(args, secret | _unknown(op, args) if secret else secret)}
    if answer.envelope["ok"]:
        found["result"] = redacted(answer.envelope["result"], secret)
    size = len(orjson.dumps(found, option=orjson.OPT_NON_STR_KEYS))
    return found if size <= LARGEST else {"too_large": size}


def redacted(value: Any, secret: frozenset[str]) -> Any:
    """Return a JSON value with the members of these names redacted, at every level."""
    if isinstance(value, dict):
        return {
            name: REDACTED if _spelt(name) in secret or name in secret else redacted(each, secret)
            for name, each in value.items()
        }
    return [redacted(each, secret) for each in value] if isinstance(value, list) else value


def _spelt(name: str) -> str:
    """Return a name in the spelling that normalise accepts: accessToken becomes access_token."""
    return nearest.snake_case(name) if len(name) <= MAX_NAME else name


def _secret(op: CatalogOp) -> frozenset[str]:
    """Return the names of an op's secrets and their aliases: args are stored under the names that were sent."""
    if not any(mark in str(op.schema) for mark in MARKS):
        return frozenset()
    marked = _marked(orjson.dumps(op.schema))
    return marked | {alias.rpartition(".")[2] for alias, meant in op.argument_aliases.items() if meant in marked}


def _unknown(op: CatalogOp, args: dict[str, Any]) -> frozenset[str]:
    """Return the names in args that the op does not know: one may be a misspelt secret."""
    heads = {alias.partition(".")[0] for alias in op.argument_aliases}
    known = heads | set(op.arguments) | op.display_only
    return frozenset(name for name in args if name not in known and _spelt(name) not in known)


@lru_cache(maxsize=1_000)
def _marked(schema: bytes) -> frozenset[str]:
    root = orjson.loads(schema)
    named = [part["properties"] for part, _ in places.subschemas(root) if isinstance(part.get("properties"), dict)]
    return frozenset(name for properties in named for name, each in properties.items() if _is_marked(each, root))


def _is_marked(schema: Any, root: dict[str, Any]) -> bool:
    """Whether a schema is marked as secret, or any part of it: an alternative, a $ref target or a list item."""
    left, seen = [schema], set[int]()
    while left:
        part = left.pop()
        if not isinstance(part, dict) or id(part) in seen:  # a $ref may be circular
            continue
        if any(part.get(mark) is True for mark in MARKS):
            return True
        seen.add(id(part))
        left += [*keywords.in_place(part, root), *keywords.any_member(part)]
    return False
