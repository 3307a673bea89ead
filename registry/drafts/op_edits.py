"""Small edits of one op's entry: an added keyword, alias, argument alias, example or rule."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from core.text import json_text
from registry.models import PolicyRule, name_validator
from registry.snapshot import snapshot

MAX_RULE_LENGTH = PolicyRule._meta.get_field("text").max_length or 0  # characters


class OpEdit(models.TextChoices):
    """What an edit adds to an op."""

    KEYWORD = "keyword", "Keyword: words by which search finds the op"
    ALIAS = "alias", "Alias: another name of the op"
    ARGUMENT_ALIAS = "argument_alias", "Argument alias: another name of an argument"
    DO = "do", "Rule: do"
    DONT = "dont", "Rule: don't"
    EDGE_CASE = "edge_cases", "Rule: edge case"
    EXAMPLE = "example", "Example: args of a working call, as JSON"


class InvalidOpEdit(Exception):
    """The edit cannot be made. The message says why."""


def apply_edit(entry: dict[str, Any], edit: OpEdit, text: str, *, argument: str = "") -> dict[str, Any]:
    """Return an op's entry (see registry.snapshot.snapshot) with one more keyword, alias and so on.

    `argument` is the argument that an argument alias means. Raises InvalidOpEdit.
    """
    text = text.strip()
    if edit == OpEdit.EXAMPLE:
        return {**entry, "examples": [*entry.get("examples", []), {"args": _parse_args(text)}]}
    text = " ".join(text.split())
    if edit in (OpEdit.ALIAS, OpEdit.ARGUMENT_ALIAS):
        _check_name(text)
    if edit == OpEdit.ARGUMENT_ALIAS:
        aliases = snapshot.get_value(entry, "argument_aliases")
        if argument not in entry["parameters_schema"].get("properties", {}):
            raise InvalidOpEdit(f"{entry['op']} has no argument {argument or 'without a name'}.")
        if text in aliases:
            raise InvalidOpEdit(f"{text} is an alias of {aliases[text]} already.")
        return {**entry, "argument_aliases": {**aliases, text: argument}}
    if edit in (OpEdit.KEYWORD, OpEdit.ALIAS):
        field = "keywords" if edit == OpEdit.KEYWORD else "aliases"
        values = _add_new(snapshot.get_value(entry, field), text.lower() if edit == OpEdit.KEYWORD else text)
        return {**entry, field: sorted(values) if edit == OpEdit.ALIAS else values}
    if len(text) > MAX_RULE_LENGTH:
        raise InvalidOpEdit(f"{len(text)} characters; the limit of a rule is {MAX_RULE_LENGTH}.")
    policy = snapshot.get_value(entry, "policy")
    return {**entry, "policy": {**policy, edit.value: _add_new(policy.get(edit.value, []), text)}}


def _add_new(values: list[str], text: str) -> list[str]:
    if text in values:
        raise InvalidOpEdit(f"The op has this already: {text}")
    return [*values, text]


def _check_name(text: str) -> None:
    try:
        name_validator(text)
    except ValidationError as error:
        raise InvalidOpEdit(" ".join(error.messages)) from None


def _parse_args(text: str) -> dict[str, Any]:
    try:
        args = json_text.parse(text.encode("utf-8", "surrogatepass"), json_text.CONTENT_LIMITS)
    except json_text.NotStrictJSON as error:
        raise InvalidOpEdit(str(error).replace("The body", "The example")) from None
    if not isinstance(args, dict):
        raise InvalidOpEdit('Args are a JSON object, such as {"title": "Call the printers"}.')
    return args
