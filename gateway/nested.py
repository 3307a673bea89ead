"""Args that models wrap in an object of the row they mean, {"document": {"title": …}}: dotted aliases name them."""

from typing import Any

from core import nearest
from registry.catalogs import CatalogOp

MAX_NAME = 100  # characters; nothing longer is taken for another spelling of an argument

Place = tuple[str, dict[str, Any], str]  # a value's path as sent, the object that it stands in, and its key there


def take_apart(op: CatalogOp, args: dict[str, Any]) -> list[str]:
    """Lift what stands in the objects that an op's dotted aliases name, in place, and return a sentence for each.

    In an op that has such aliases an argument may be sent in several spellings at once, and the first value that is
    not blank counts: outer before nested, then the argument's own name before its aliases, and those in alphabetical
    order. (A release sorts its members, RFC 8785, so the order in which the aliases were written says nothing.)
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
        sent = {path: (owner, key) for path, owner, key in there if key in owner}  # what no argument before took
        if sent and [*sent] != [argument]:
            warnings += _take_first(argument, {path: owner.pop(key) for path, (owner, key) in sent.items()}, args)
    for head in heads:
        _unwrap(head, args)
    return warnings


def _take_first(argument: str, values: dict[str, Any], args: dict[str, Any]) -> list[str]:
    """Set an argument to the first of the values that is not blank, and say which was read and which ignored."""
    used = next((path for path, value in values.items() if not _is_blank(value)), next(iter(values)))
    args[argument] = values.pop(used)
    read = [] if used == argument else [f"Read {used} as {argument}."]
    return read + [f"Ignored {path}, for {used} was sent too." for path in values if not _is_blank(values[path])]


def _places(args: dict[str, Any], heads: list[str]) -> dict[str, list[Place]]:
    """Return where each name stands, nested ones dotted: as it is, then in camelCase and the like."""
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
    """Move what is left of a nested object to the top, where validation says what it should have been."""
    wrapped = args.get(head)
    if not isinstance(wrapped, dict):
        return
    for name in [name for name in wrapped if name not in args]:
        args[name] = wrapped.pop(name)
    if not wrapped:
        del args[head]


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
