"""Idempotency keys of writes: a write that is sent twice in a turn runs once.

A key is derived from the turn, the op and its args, wherever the call stands: alone or in a batch, in one answer or in
two, by the model or by an agent. A turn that goes on with another one has its keys.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chat.gateway import envelopes
from chat.models import ToolCall
from chat.turns.tool_plan import KEY, PlannedCall
from core.text import json_text

RUN_AGENT = "x.agent.run"
# The first word of what a read does. Everything else counts as a write.
READ_WORDS = frozenset({"list", "get", "search", "find", "count", "describe", "history", "overview", "fetch", "lookup"})
WORDS_OF_TWO_ACTIONS = frozenset({"or", "and", "then"})  # such as get_or_create
# The write may have been done, or nothing was decided yet: it keeps its key.
OPEN_REASONS = frozenset(
    {*envelopes.WAITING_REASONS, "in_progress", "outcome_unknown", "gateway_unavailable", "unavailable"}
)
PLAIN_ENTRY = frozenset({"type", "op", "args", "depends_on", KEY})
_REFERENCE = re.compile(r"(\d{1,2})#")


class WriteKeys:
    """The keys of one turn. `root` is the id of the first of the turns that go on with each other."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._ops: dict[str, Mapping[str, Any]] = {}  # by the name of their tool, as toolset describes them
        self._failures = Counter[str]()  # by the digest of the call or batch
        self._done = set[str]()  # keys of writes that succeeded

    def learn_ops(self, toolset: Mapping[str, Any]) -> None:
        """Remember what a toolset says of the ops behind its tools."""
        self._ops |= toolset.get("ops", {})

    def learn_calls(self, rows: Iterable[ToolCall]) -> None:
        """Remember how the writes of earlier turns went."""
        for row in rows:
            self.note_answer(row.sent, row.envelope or {})

    def is_read(self, planned: PlannedCall) -> bool:
        """Whether a call changes nothing and can run beside others."""
        return planned.endpoint == "help" or (planned.endpoint == "exec" and self._is_read(planned.op))

    def add_keys(self, planned: PlannedCall) -> dict[str, Any] | None:
        """Return the body of a call with the keys of its writes. None if it has no write."""
        body = planned.body
        if planned.endpoint == "exec" and not self._is_read(planned.op) and not body.get("dry_run"):
            return self._add_key(body, self._hash_entry(body, ()))
        if planned.endpoint == "batch" and isinstance(body.get("ops"), list):
            return self._add_batch_keys(body, body["ops"])
        return None

    def note_answer(self, sent: Mapping[str, Any] | None, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Remember how the writes of a body went. Return the answer; it says which of them had been done before."""
        if sent is None:
            return dict(answer)
        results = answer.get("results")
        if "ops" not in sent or not isinstance(results, list):
            return self._note_write(sent, answer)
        if not answer.get("ok"):
            self._failures[_get_digest(sent)] += 1  # another batch with the same entries: what was done has its own key
        return {
            **answer,
            "results": [self._note_write(*pair) for pair in zip(sent["ops"], results, strict=True)],
        }

    def _note_write(self, sent: Any, envelope: Mapping[str, Any]) -> dict[str, Any]:
        key = sent.get(KEY) if isinstance(sent, Mapping) else None
        if not key:
            return dict(envelope)
        if not envelope.get("ok"):
            self._failures[_get_digest(sent)] += bool(envelope) and envelopes.get_reason(envelope) not in OPEN_REASONS
        elif key in self._done:
            return envelopes.add_warning(envelope, _describe_repetition(envelope))
        else:
            self._done.add(key)
        return dict(envelope)

    def _add_batch_keys(self, body: Mapping[str, Any], entries: Sequence[Any]) -> dict[str, Any] | None:
        digests: list[str] = []
        for entry in entries:
            is_plain = isinstance(entry, dict) and entry.get("type") == "exec" and not entry.keys() - PLAIN_ENTRY
            digests.append(self._hash_entry(entry, digests) if is_plain else "")
        if all(isinstance(each, dict) and self._reads(each) for each in entries):
            return None
        keyed = [
            (not self._reads(entry) and self._add_key(entry, digest)) or entry if digest else entry
            for entry, digest in zip(entries, digests, strict=True)
        ]
        return self._add_key({**body, "ops": keyed}, json_text.try_digest([body.get("mode"), entries]))

    def _reads(self, entry: Mapping[str, Any]) -> bool:
        return entry.get("type") == "help" or self._is_read(str(entry.get("op")))

    def _is_read(self, op: str) -> bool:
        described = self._ops.get(op, {})
        if described.get("op", op) == RUN_AGENT:
            return False  # its agent may write
        if kind := described.get("kind"):
            return bool(kind == "read")
        words = op.rpartition(".")[2].split("_")
        return words[0] in READ_WORDS and WORDS_OF_TWO_ACTIONS.isdisjoint(words)

    def _hash_entry(self, entry: Mapping[str, Any], earlier: Sequence[str]) -> str:
        """Return the digest of a call. What it takes from an earlier entry counts as that entry's digest.

        Empty if the call cannot be compared: it refers to an entry without a digest, or is malformed.
        """
        name = str(entry.get("op"))
        try:
            args = _replace_references(entry.get("args"), earlier)
        except LookupError:
            return ""
        return json_text.try_digest([self._ops.get(name, {}).get("op", name), args])

    def _add_key(self, body: Mapping[str, Any], digest: str) -> dict[str, Any] | None:
        """Return a body with a key. One by the model is unique in its turn only. None if there is nothing to add."""
        if KEY in body:
            digest = json_text.try_digest(body[KEY]) if isinstance(body[KEY], str) else ""
        if not digest:
            return None
        count = self._failures[digest[:32]]
        return {**body, KEY: f"{self._root}:{digest[:32]}" + (f":{count + 1}" if count else "")}


def _get_digest(sent: Mapping[str, Any]) -> str:
    return str(sent.get(KEY, "")).split(":")[1] if ":" in str(sent.get(KEY, "")) else ""


def _replace_references(value: Any, earlier: Sequence[str]) -> Any:
    """Return args in which each reference names the digest of its entry. Raises LookupError if that has none."""
    if isinstance(value, list):
        return [_replace_references(each, earlier) for each in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$result")
    if reference is None:
        return {name: _replace_references(each, earlier) for name, each in value.items()}
    match = _REFERENCE.match(str(reference))
    digest = earlier[int(match[1])] if match else ""
    if not digest:
        raise LookupError(reference)
    return {"$result": [digest, str(reference).partition("#")[2]]}


def _describe_repetition(envelope: Mapping[str, Any]) -> str:
    row = envelopes.identify_row(envelope)
    return (
        f"{envelopes.ALREADY_DONE}: This call was already done in this turn{f' ({row})' if row else ''}; this is its "
        f"result. To do it again, send it with another {KEY}."
    )
