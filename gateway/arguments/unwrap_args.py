"""Unwrap args that models nest in an object, {"document": {"title": …}}, as named by dotted aliases."""

from typing import Any

from core.text import english
from registry.catalog.model import CatalogOp

MAX_NAME_LENGTH = 100  # characters; a longer name is never read as another spelling of an argument

Place = tuple[str, dict[str, Any], str]  # path of a value as sent, the object that holds it, its key there


def unwrap_nested(op: CatalogOp, args: dict[str, Any]) -> list[str]:
    """Move values out of the objects that an op's dotted aliases name, in place, and return a warning for each.

    With such aliases an argument may arrive in several spellings. The first value that is not blank is used:
    outer before nested, then the argument's own name before its aliases, then aliases in alphabetical order. (A release
    sorts its members by RFC 8785, so the order in which aliases were written is lost.)
    """
    heads = sorted({alias.partition(".")[0] for alias in op.argument_aliases if "." in alias})
    if not heads:
        return []
    warnings: list[str] = []
    places = _find_places(args, heads)
    for argument in op.arguments:
        spellings = [argument, *(alias for alias, target in op.argument_aliases.items() if target == argument)]
        spellings.sort(key=lambda name: _rank_spelling(name, argument))
        candidates = [place for name in spellings for place in places.get(name, [])]
        present = {
            path: (owner, key) for path, owner, key in candidates if key in owner
        }  # not taken by an earlier argument
        if present and [*present] != [argument]:
            warnings += _use_first_value(
                argument, {path: owner.pop(key) for path, (owner, key) in present.items()}, args
            )
    for head in heads:
        warnings += _hoist_members(head, args, op)
    return warnings


def _use_first_value(argument: str, values: dict[str, Any], args: dict[str, Any]) -> list[str]:
    """Set an argument to the first value that is not blank. Return warnings for values read or ignored."""
    source = next((path for path, value in values.items() if not _is_blank(value)), next(iter(values)))
    args[argument] = values.pop(source)
    warnings = [] if source == argument else [f"Read {source} as {argument}."]
    return warnings + [f"Ignored {path}: {source} was also sent." for path in values if not _is_blank(values[path])]


def _find_places(args: dict[str, Any], heads: list[str]) -> dict[str, list[Place]]:
    """Return the places of each name, nested ones dotted: the exact spelling first, then camelCase and the like."""
    owners = {"": args} | {f"{head}.": args[head] for head in heads if isinstance(args.get(head), dict)}
    places: dict[str, list[Place]] = {}
    for prefix, owner in owners.items():
        for name in owner:
            place = (prefix + name, owner, name)
            snake_name = english.to_snake_case(name) if len(name) <= MAX_NAME_LENGTH else name
            places.setdefault(prefix + name, []).insert(0, place)
            if snake_name != name:
                places.setdefault(prefix + snake_name, []).append(place)
    return places


def _rank_spelling(name: str, argument: str) -> tuple[bool, bool, str]:
    _, dot, member = name.rpartition(".")
    return bool(dot), member != argument, name


def _hoist_members(head: str, args: dict[str, Any], op: CatalogOp) -> list[str]:
    """Move the remaining members of a nested object to the top level, so that they count or validation reports them."""
    nested_object = args.get(head)
    if not isinstance(nested_object, dict):
        return []
    hoisted = [name for name in nested_object if name not in args]
    for name in hoisted:
        args[name] = nested_object.pop(name)
    if not nested_object:
        del args[head]
    is_used = any(name in op.arguments or name in op.argument_aliases for name in hoisted)
    return [f"Read the members of {head} as arguments."] if is_used else []


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
