"""Arguments as strict mode sends them: every argument of an object, and null for those that are left out."""

from typing import Any


def drop_nulls(schema: dict[str, Any], value: Any) -> None:
    """Delete the nulls of optional arguments, in place, from objects that name all their arguments, at every level.

    An argument that can be null keeps it: there it means something. So does a call that leaves arguments out, because
    its null was meant: it is an error.
    """
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for item in value:
            drop_nulls(items, item)
    arguments = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(arguments, dict):
        return
    if arguments.keys() <= value.keys():
        required = frozenset(schema.get("required", ()))
        for name, argument in arguments.items():
            if value[name] is None and name not in required and not _allows_null(argument):
                del value[name]
    for name, argument in arguments.items():
        if isinstance(argument, dict):
            drop_nulls(argument, value.get(name))


def _allows_null(argument: Any) -> bool:
    if not isinstance(argument, dict):
        return argument is True
    types = argument.get("type")
    is_typed = types is not None or "enum" in argument or "anyOf" in argument
    return (
        not is_typed
        or "null" in ([types] if isinstance(types, str) else types or ())
        or None in argument.get("enum", ())
        or any(_allows_null(part) for part in argument.get("anyOf", ()))
    )
