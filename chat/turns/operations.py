"""Operation events and the ledger of a turn: which rows were touched, and the outcome."""

from collections.abc import Iterator, Mapping
from typing import Any

from chat.gateway import envelopes

MAX_NAMES = 500

Operation = dict[str, Any]


class NamesSeen:
    """Names of rows by their ids, from everything that was read in a conversation. Nothing else is ever shown."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.by_id = dict(names)

    def get(self, id: str) -> str:
        """Return the name of a row, empty if it was not seen."""
        return self.by_id.get(id, "")

    def learn(self, value: Any) -> None:
        """Remember the names of all rows in an answer."""
        if isinstance(value, Mapping):
            id, name = value.get("id"), value.get("title") or value.get("name")
            if isinstance(id, str | int) and isinstance(name, str) and len(self.by_id) < MAX_NAMES:
                self.by_id[str(id)] = name
            value = value.values()
        elif not isinstance(value, list):
            return
        for each in value:
            self.learn(each)

    def learn_names(self, names: Mapping[str, str]) -> None:
        """Remember names by id."""
        self.by_id |= names


def describe_start(op: str, args: Mapping[str, Any], shown: Mapping[str, Any], names: NamesSeen) -> Operation | None:
    """Return the operation that a call begins, None if its op does not say. `shown` is the toolset's `ops`."""
    known = shown.get(op, {})
    parts = op.split(".")
    entity = known.get("entity") or (parts[-2] if len(parts) >= 3 else "")
    action = known.get("action") or (parts[-1] if len(parts) >= 3 else "")
    if not entity or not action:
        return None
    operation: Operation = {"entity": entity, "action": action, "status": "start"}
    id = args.get(f"{entity}_id")
    if isinstance(id, str) and id:
        operation["entity_id"] = id
    name = names.get(str(id)) or args.get("title") or args.get("name")
    return operation | ({"entity_name": name} if isinstance(name, str) and name else {})


def describe_end(
    answer: Mapping[str, Any], names: NamesSeen, *, earlier: Mapping[str, Any] | None = None
) -> Iterator[tuple[Operation, bool]]:
    """Yield the operation of each envelope of an answer, with `status` success or error, and whether nothing changed.

    A write that sent the stored values, or that was done before, succeeds and changes nothing. What has ended in
    `earlier`, an earlier answer to the same call, is left out.
    """
    before = list(envelopes.iter_envelopes(earlier)) if earlier else []
    for index, envelope in enumerate(envelopes.iter_envelopes(answer)):
        if index < len(before) and _has_same_end(before[index], envelope):
            continue
        meta = envelope.get("meta")
        meta = meta if isinstance(meta, Mapping) else {}
        operation = meta.get("operation")
        if not operation or envelopes.is_waiting(envelope):
            continue
        name = operation.get("entity_name") or names.get(operation.get("entity_id", ""))
        status = "success" if envelope.get("ok") else "error"
        named = {
            **envelopes.name_operation(operation, str(envelope.get("op") or "")),
            **({"entity_name": name} if name else {}),
            "status": status,
        }
        yield named, envelopes.is_without_effect(envelope)


def _has_same_end(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    return not envelopes.is_waiting(earlier) and earlier.get("ok") == now.get("ok")
