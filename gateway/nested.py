"""Unwrap args that models nest in an object, {"document": {"title": …}}, as named by dotted aliases."""

from typing import Any

from core import nearest
from registry.catalogs import CatalogOp

MAX_NAME = 100  # characters; a longer name is never read as another spelling of an argument

Place = tuple[str, dict[str, Any], str]  # path of a value as sent, the object that holds it, its key there


def take_apart(op: CatalogOp, args: dict[str, Any]) -> list[str]:
    """Move values out of the objects that an op's dotted aliases name, in place, and return a warning for each.

    With such aliases an argument may arrive in several spellings at once. The first value that is not blank is used:
    outer before nested, then the argument's own name before its aliases, then aliases in alphabetical order. (A release
    sorts its members by RFC 8785, so the order in which aliases were written is lost.)
    """
    heads = sorted({alias.partition(".")[0] for alias in op.argument_aliases if "." in alias})
    if not heads:
        return []
    warnings: list[str] = []
    places = _places(args, heads)
    for argument in op.arguments:
        spellings = [argument, *(alias for alias, meant in op.argument_aliases.items() if meant == argument)]
        spellings.sort(key=lambda name: _preference(name, argument))
        there = [place for name in spellings for place in places.get(name, [])]
        sent = {path: (owner, key) for path, owner, key in there if key in owner}  # not taken by an earlier argument
        if sent and [*sent] != [argument]:
            warnings += _take_first(argument, {path: owner.pop(key) for path, (owner, key) in sent.items()}, args)
    for head in heads:
        _unwrap(head, args)
    return warnings


def _take_first(argument: str, values: dict[str, Any], args: dict[str, Any]) -> list[str]:
    """Set an argument to the first value that is not blank. Return warnings for values read or ignored."""
    used = next((path for path, value in values.items() if not _is_blank(value)), next(iter(values)))
    args[argument] = values.pop(used)
    read = [] if used == argument else [f"Read {used} as {argument}."]
    return read + [f"Ignored {path}: {used} was sent too." for path in values if not _is_blank(values[path])]


def _places(args: dict[str, Any], heads: list[str]) -> dict[str, list[Place]]:
    """Return the places of each name, nested ones dotted: the exact spelling first, then camelCase and the like."""
    owners = {"": args} | {f"{head}.": args[head] for head in heads if isinstance(args.get(head), dict)}
    places: dict[str, list[Place]] = {}
    for prefix, owner in owners.items():
        for name in owner:
            place = (prefix + name, owner, name)
            spelt = nearest.snake_case(name) if len(name) <= MAX_NAME else name
            places.setdefault(prefix + name, []).insert(0, place)
            if spelt != name:
                places.setdefault(prefix + spelt, []).append(place)
    return places


def _preference(name: str, argument: str) -> tuple[bool, bool, str]:
    _, dot, member = name.rpartition(".")
    return bool(dot), member != argument, name


def _unwrap(head: str, args: dict[str, Any]) -> None:
    """Move the remaining members of a nested object to the top level, so that validation reports them."""
    wrapped = args.get(head)
    if not isinstance(wrapped, dict):
        return
    for name in [name for name in wrapped if name not in args]:
        args[name] = wrapped.pop(name)
    if not wrapped:
        del args[head]


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
