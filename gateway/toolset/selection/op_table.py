"""The ops of a catalog as arrays: what a turn model knows of each, and what speaks for each in a turn."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gateway.toolset.selection.candidates import get_focus
from gateway.toolset.selection.turn_features import TurnSituation, split_words
from registry import search
from registry.catalog.model import Catalog, CatalogOp
from registry.search import intent, tokenizer

Floats = NDArray[np.float32]

MAIN_ACTIONS = frozenset(("list", "get", "search", "create", "update", "delete"))
MAX_FOUND = 60  # ops of a search that count
CLEAR_SHARE = 0.85  # of the best op's score
# What speaks for an op, as columns.
EVIDENCE = (
    "found",
    "found_clearly",
    "found_write",
    "found_of_service",
    "named",
    "named_of_service",
    "last_entity",
    "recent_entity",
    "last_op",
    "recent_op",
    "focus",
    "in_context",
    "of_service",
    "of_named_service",
    "of_recent_service",
    "of_last_service",
    "last_entity_of_service",
)
# Evidence that counts more or less with the words of a message: each has an output of the model, too.
RELATIONS = ("last_entity", "recent_op", "focus", "named", "of_last_service")
_RELATION_COLUMNS = [EVIDENCE.index(name) for name in RELATIONS]


def list_outputs(op: CatalogOp) -> list[str]:
    """Return the names of the outputs of a turn model whose sum is the op's score.

    An op of a service is known by its action alone, so that the model serves services that it has never seen.
    """
    if op.is_of_service:
        action = intent.detect_op_action(op)
        return ["service", f"action:{action}", f"service_action:{action}"]
    outputs = [f"entity:{op.entity}", f"action:{op.action}"]
    is_main = op.action in MAIN_ACTIONS and op.op.endswith(f".{op.entity}.{op.action}")
    return outputs if is_main else [*outputs, f"op:{op.op}"]


class OpTable:
    """The active ops of a catalog, in the order of the rows of its arrays."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.ops = [op for op in catalog.ops.values() if op.is_active]
        self.row_by_path = {op.op: row for row, op in enumerate(self.ops)}
        self._entity = np.array([op.entity for op in self.ops], dtype=object)
        self._service = np.array([op.connection if op.is_of_service else "" for op in self.ops], dtype=object)
        self._is_write = np.array([op.is_write for op in self.ops], dtype=bool)
        self.is_of_service = self._service != ""
        self.own_entities = {op.entity for op in self.ops if not op.is_of_service and op.entity}
        self._service_words = self._read_service_words()
        self._outputs: dict[tuple[str, ...], Floats] = {}

    def find_named_services(self, text: str) -> set[str]:
        """Return the connections of services that a text names."""
        stems = {tokenizer.stem(word) for word in split_words(text)}
        return {connection for connection, words in self._service_words.items() if words & stems}

    def get_outputs(self, names: tuple[str, ...]) -> Floats:
        """Return which outputs each op has, shape (ops, outputs). `names` are those of the model."""
        if names not in self._outputs:
            column_by_name = {name: column for column, name in enumerate(names)}
            outputs = np.zeros((len(self.ops), len(names)), dtype=np.float32)
            for row, op in enumerate(self.ops):
                outputs[row, [column_by_name[name] for name in list_outputs(op) if name in column_by_name]] = 1
            self._outputs[names] = outputs
        return self._outputs[names]

    def collect_evidence(self, turn: TurnSituation, pool: Collection[CatalogOp]) -> Floats:
        """Return what speaks for each op in a turn, shape (ops, EVIDENCE). `pool` are the ops of the context."""
        found = self._search(turn.conversation.message)
        has_entity = self._entity != ""
        named = np.isin(self._entity, list(turn.named)) & has_entity
        named_services = self.find_named_services(turn.conversation.message)
        last, earlier = turn.recent[:1], turn.recent[1:]
        last_entity = self._match_rows_like(last)
        of_last_service = self._match_services(last)
        columns: Mapping[str, NDArray[np.generic]] = {
            "found": found,
            "found_clearly": found > CLEAR_SHARE,
            "found_write": found * self._is_write,
            "found_of_service": found * self.is_of_service,
            "named": named,
            "named_of_service": named & self.is_of_service,
            "last_entity": last_entity,
            "recent_entity": self._match_rows_like(earlier),
            "last_op": self._mark(last),
            "recent_op": self._mark(turn.recent),
            "focus": (self._entity == get_focus(turn.context)) & has_entity,
            "in_context": self._mark(pool),
            "of_service": self.is_of_service,
            "of_named_service": np.isin(self._service, list(named_services)) & self.is_of_service,
            "of_recent_service": self._match_services(turn.recent),
            "of_last_service": of_last_service,
            "last_entity_of_service": last_entity & of_last_service,
        }
        return np.stack([columns[name] for name in EVIDENCE], axis=1).astype(np.float32)

    def _search(self, message: str) -> Floats:
        shares = search.get_index(self._catalog).rank(message, use_endpoint=False).shares
        best = sorted(shares, key=lambda path: -shares[path])[:MAX_FOUND]
        found = np.zeros(len(self.ops), dtype=np.float32)
        found[[self.row_by_path[path] for path in best]] = [shares[path] for path in best]
        return found

    def _mark(self, ops: Collection[CatalogOp]) -> NDArray[np.bool_]:
        marked = np.zeros(len(self.ops), dtype=bool)
        marked[[self.row_by_path[op.op] for op in ops if op.op in self.row_by_path]] = True
        return marked

    def _match_rows_like(self, ops: Sequence[CatalogOp]) -> NDArray[np.bool_]:
        """Return the ops about the same kinds of rows as others."""
        matches = np.zeros(len(self.ops), dtype=bool)
        for op in ops:
            if op.entity:
                matches |= (self._entity == op.entity) & (self._service == (op.connection if op.is_of_service else ""))
        return matches

    def _match_services(self, ops: Sequence[CatalogOp]) -> NDArray[np.bool_]:
        services = [op.connection for op in ops if op.is_of_service]
        matches: NDArray[np.bool_] = np.isin(self._service, services) & self.is_of_service
        return matches

    def _read_service_words(self) -> dict[str, set[str]]:
        """Return the stems of the names of each service. Rows that a tool lists are found by their own name."""
        listed = {op.entity for op in self.ops if op.action == "list"}
        words: dict[str, set[str]] = {}
        for op in self.ops:
            if op.is_of_service:
                names = {op.group, op.connection, op.entity} - listed - {""}
                words.setdefault(op.connection, set()).update(map(tokenizer.stem, names))
        return words


def spread_relations(evidence: Floats) -> Floats:
    """Return the columns of the evidence that has outputs, shape (ops, RELATIONS)."""
    return evidence[:, _RELATION_COLUMNS]
