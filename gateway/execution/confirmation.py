"""Confirmation: an op that requires it runs only after the end user has agreed to exactly this call.

The first call returns what would happen and a token. The chat service sends the token back in a header, which a model
cannot write. A token is valid once, for one op with one set of args, one client and one subject, for five minutes.
A service that asks its users whatever its client's setting is sends `Gateway-Confirm: ask` with its calls.
"""

import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.core import signing

from core.text import json_text
from gateway.access.request_context import Caller
from gateway.contracts.errors import ConflictError
from gateway.data_flow.policy import FlowDecision
from gateway.executors.base import UpstreamCall
from gateway.models import UsedConfirmation
from registry.catalog.model import CatalogOp
from registry.text import cleanup

MAX_AGE = 300  # seconds
SALT = "gateway.confirmation"
MAX_ARGS_TEXT = 400  # characters of a question's args
MAX_SHORT_VALUE = 40  # characters of a value that comes before longer ones
MAX_LEFT_OUT = 10  # names of args whose values have no room
MIN_PART_TEXT = 60  # of an arg that is shown
MAX_VALUE_TEXT = 80
MAX_NAME_TEXT = 40
MAX_LISTED = 3  # items of a list
_INNER_QUOTES = str.maketrans("“”", "''")  # a value could else end its own quotation and imitate other args
ASK = "ask"  # instead of a token


class TokenUsed(Exception):
    """Another call has used the token. Roll back, and answer with `build_used_error`."""


def is_needed(caller: Caller, op: CatalogOp) -> bool:
    """Whether the end user must agree to a call of this op: by the setting of the client or the header of the call."""
    return op.confirm and (caller.key.confirms or bool(caller.confirmation))


def has_token(caller: Caller) -> bool:
    """Whether the call carries a token, valid or not."""
    return caller.confirmation not in ("", ASK)


def issue_token(caller: Caller, work: UpstreamCall) -> str:
    """Return a new token that confirms this call."""
    return signing.dumps(f"{_hash_call(caller, work)}.{secrets.token_urlsafe(8)}", salt=SALT)


def is_confirmed(caller: Caller, work: UpstreamCall) -> bool:
    """Whether the call carries a valid token for exactly this op, args, client and subject, used or not."""
    if not has_token(caller):
        return False
    try:
        payload: str = signing.loads(caller.confirmation, salt=SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        return False
    return payload.partition(".")[0] == _hash_call(caller, work)


def use_token(caller: Caller, work: UpstreamCall, *, trace_id: str) -> None:
    """Use up the call's token, in the open transaction. Raises TokenUsed if another call has used it.

    Waits while the transaction of another call with the token is open: if it is rolled back, the token is unused.
    """
    _, is_new = UsedConfirmation.objects.get_or_create(
        digest=sha256(caller.confirmation.encode()).hexdigest(),
        defaults={"client_id": caller.key.client_id, "op": work.op.op, "trace_id": trace_id, "used_at": work.at},
    )
    if not is_new:
        raise TokenUsed


def build_used_error(work: UpstreamCall) -> ConflictError:
    """Return the error for a call whose token another call has used."""
    return ConflictError(
        f"The token in Gateway-Confirm has already confirmed another call of {work.op.op}; nothing was done. "
        "Send the call without it to ask the end user again.",
        reason="confirmation_used",
        help_path=work.op.op,
    )


def build_required_error(
    caller: Caller,
    work: UpstreamCall,
    operation: dict[str, str],
    would: dict[str, Any],
    flow: FlowDecision | None = None,
) -> ConflictError:
    """Return the error for a call that the end user has not agreed to yet, with what it is about and would answer.

    `flow` is the rule of data flow that asks, if one does.
    """
    about = f"{operation.get('entity', 'row')} “{name}”" if (name := operation.get("entity_name")) else ""
    effect = f" It would {work.op.action} the {about}." if about else ""
    args_text = describe_args(work.args, operation)
    token_hint = "The token is for another call or has expired. " if has_token(caller) else ""
    why = f" {flow.explain(work.op)}" if flow else ""
    return ConflictError(
        f"{token_hint}{work.op.op} needs the end user's agreement; nothing was done.{effect}{why} "
        "Ask them, then repeat the call with the token in Gateway-Confirm.",
        reason="confirmation_required",
        help_path=work.op.op,
        details={
            "confirmation": {
                "token": issue_token(caller, work),
                "expires_in": MAX_AGE,
                "operation": operation,
                "args_text": args_text,
                "would": would,
            },
            **({"data_flow": flow.as_dict()} if flow else {}),
        },
    )


def describe_args(args: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """Return the args of a call in words, for the end user: user id: 7; force: yes.

    The id of a row is left out if the question has its name. The model chooses the args and their order, so switches
    and other short values come first, long ones share the room that is left, and what has none is named.
    """
    own_ids = ("id", f"{operation.get('entity')}_id") if operation.get("entity_name") else ()
    described = _describe_fields({name: value for name, value in args.items() if name not in own_ids})
    parts: list[str] = []
    room = MAX_ARGS_TEXT
    for index, (name, value) in enumerate(described):
        part = _cut(f"{name}: {value}", max(room // (len(described) - index), MIN_PART_TEXT))
        if len(part) > room:
            parts.append(f"and {_list_names(described[index:])}")
            break
        parts.append(part)
        room -= len(part) + len("; ")
    return "; ".join(parts)


def _describe_fields(fields: Mapping[str, Any], *, is_nested: bool = False) -> list[tuple[str, str]]:
    """Return (name, value) of fields in words: short values before long ones, switches and numbers before texts."""
    described = [(name, value, _describe_value(value, is_nested=is_nested)) for name, value in fields.items()]
    described.sort(
        key=lambda each: (
            len(each[2]) > MAX_SHORT_VALUE,
            isinstance(each[1], str | list | dict),
            isinstance(each[1], str),
        )
    )
    return [(_write_name(name), text) for name, _, text in described]


def _list_names(described: Sequence[tuple[str, str]]) -> str:
    names = ", ".join(name for name, _ in described[:MAX_LEFT_OUT])
    more = len(described) - MAX_LEFT_OUT
    return names + (f" and {more} more" if more > 0 else "")


def _cut(part: str, limit: int) -> str:
    if len(part) <= limit:
        return part
    start = part[: limit - 2].rstrip("…")
    return f"{start}…{'”' if start.count('“') > start.count('”') else ''}"


def _write_name(name: str) -> str:
    return _shorten(name.replace("_", " "), MAX_NAME_TEXT)


def _describe_value(value: Any, *, is_nested: bool = False) -> str:
    if isinstance(value, str):
        return f"“{_shorten(value, MAX_VALUE_TEXT)}”"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "yes", False: "no"}[value]
    if not isinstance(value, list | dict):
        return str(value)[:MAX_VALUE_TEXT]
    if is_nested or not value:
        return f"{len(value)} {'items' if isinstance(value, list) else 'fields'}"
    if isinstance(value, list):
        shown = [_describe_value(each, is_nested=True) for each in value[:MAX_LISTED]]
        more = len(value) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")
    fields = _describe_fields(value, is_nested=True)
    text = ", ".join(f"{name} {text}" for name, text in fields[:MAX_LISTED])
    return text + (f" and {_list_names(fields[MAX_LISTED:])}" if len(fields) > MAX_LISTED else "")


def _shorten(text: str, limit: int) -> str:
    visible = " ".join(cleanup.strip_hidden_characters(text[: limit * 4]).split()).translate(_INNER_QUOTES)
    return visible if len(visible) <= limit else f"{visible[: limit - 1]}…"


def _hash_call(caller: Caller, work: UpstreamCall) -> str:
    return json_text.hash_canonically(
        {"op": work.op.op, "args": work.args, "client": caller.key.client_id, "subject": caller.subject}
    )
