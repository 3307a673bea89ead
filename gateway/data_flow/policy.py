"""Which rule of data flow holds for a call, from the labels of its op and of the earlier calls of its turn.

Pure: it reads no database, so that the console explains a call with the code that judges it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from django.conf import settings

from gateway.access.key_verification import VerifiedKey
from gateway.data_flow.rules import GATEWAY_RULES, BadRule, FlowEffect, FlowRule, FlowTarget, parse_rules
from gateway.models import FlowMode
from registry.catalog.connections import ConnectionConfig, Connections
from registry.catalog.model import Catalog, CatalogOp
from registry.flow_labels import FlowLabel

BRINGING_LABELS = frozenset((FlowLabel.UNTRUSTED, FlowLabel.PRIVATE))
LABEL_TEXTS = {
    FlowLabel.UNTRUSTED: "text from strangers",
    FlowLabel.PRIVATE: "data of the user",
}


class BroughtLabel(NamedTuple):
    """A label that an earlier call of the turn brought in: the connection and the op of that call."""

    label: str
    connection: str
    op: str
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class FlowPolicy:
    """The mode and the rules for the calls of one client."""

    mode: FlowMode
    rules: tuple[FlowRule, ...]


@dataclass(frozen=True, slots=True)
class FlowDecision:
    """The rule that holds for a call, and the earlier call that brought its label."""

    mode: FlowMode
    rule: FlowRule
    because: BroughtLabel

    @property
    def asks(self) -> bool:
        """Whether the call needs the agreement of its user."""
        return self.mode == FlowMode.ENFORCE and self.rule.effect == FlowEffect.ASK

    @property
    def refuses(self) -> bool:
        """Whether the call is refused."""
        return self.mode == FlowMode.ENFORCE and self.rule.effect == FlowEffect.REFUSE

    def explain(self, op: CatalogOp) -> str:
        """Return why the rule holds for the op, in two sentences."""
        what = LABEL_TEXTS[FlowLabel(self.because.label)]
        does = "sends data out" if self.rule.then == FlowTarget.OUTBOUND else "destroys data"
        first = f"An earlier call of this turn, {self.because.op}, brought in {what}"
        return f"{first}, and {op.op} {does}. Rule: {self.rule}."

    def as_dict(self) -> dict[str, str]:
        """Return the JSON form, for the details of an error."""
        return {
            "rule": str(self.rule),
            "label": self.because.label,
            "op": self.because.op,
            "connection": self.because.connection,
            "trace_id": self.because.trace_id,
        }


def get_policy(key: VerifiedKey) -> FlowPolicy:
    """Return the mode and the rules for a client. Rules that cannot be read are replaced by those of the gateway."""
    return build_policy(key.flow_mode, key.flow_rules)


def build_policy(mode: str, rules_text: str) -> FlowPolicy:
    """Return the policy of a client with this mode and these rules; what is empty is as the gateway has it."""
    return _build_policy(mode or settings.GATEWAY_DATA_FLOW, rules_text)


@lru_cache(maxsize=256)
def _build_policy(mode: str, rules_text: str) -> FlowPolicy:
    try:
        rules = parse_rules(rules_text) or GATEWAY_RULES
    except BadRule:
        rules = GATEWAY_RULES
    return FlowPolicy(FlowMode(mode), rules)


def find_labels(op: CatalogOp, connection: ConnectionConfig | None) -> frozenset[str]:
    """Return the labels of an op: its own, and those of its connection that fit its kind.

    A read that runs for one user reads data of this user.
    """
    from_connection = frozenset(connection.flow_labels) if connection is not None else frozenset()
    if op.is_write:
        return op.flow_labels | (from_connection & {FlowLabel.OUTBOUND})
    labels = op.flow_labels | (from_connection & BRINGING_LABELS)
    is_of_user = op.needs_subject or (connection is not None and connection.names_subject)
    return labels | {FlowLabel.PRIVATE} if is_of_user else labels


def find_targets(op: CatalogOp, labels: frozenset[str]) -> frozenset[FlowTarget]:
    """Return what a call of the op does that rules look for."""
    outbound = {FlowTarget.OUTBOUND} if FlowLabel.OUTBOUND in labels else set()
    return frozenset(outbound | ({FlowTarget.DESTRUCTIVE} if op.is_write and op.confirm else set()))


def decide(
    policy: FlowPolicy, op: CatalogOp, labels: frozenset[str], brought: Iterable[BroughtLabel]
) -> FlowDecision | None:
    """Return the rule that holds for a call after what was brought in, one that refuses first; None if none does."""
    targets = find_targets(op, labels)
    held = [
        FlowDecision(policy.mode, rule, each)
        for rule in policy.rules
        if rule.then in targets
        for each in brought
        if each.label == rule.after and not (rule.elsewhere and each.connection == op.connection)
    ]
    return min(held, key=lambda each: each.rule.effect != FlowEffect.REFUSE, default=None)


class OpFlow(NamedTuple):
    """What a call of an op is to the rules: its labels, those that it brings into its turn, and what it does."""

    labels: frozenset[str]
    brings: frozenset[str]
    targets: frozenset[FlowTarget]


class FlowTargets:
    """The connections of a release that have ops for which rules can hold. Without any, nothing is remembered."""

    def __init__(self, catalog: Catalog, connections: Connections) -> None:
        self.connections = connections
        self._flows: dict[str, OpFlow] = {}  # by path, of the ops that were called
        self._by_target: dict[FlowTarget, set[str]] = {target: set() for target in FlowTarget}
        for op in catalog.ops.values():
            if op.is_active:
                for target in find_targets(op, find_labels(op, connections.by_name.get(op.connection))):
                    self._by_target[target].add(op.connection)

    def get_flow(self, op: CatalogOp) -> OpFlow:
        """Return what a call of an op of the release is to the rules."""
        flow = self._flows.get(op.op)
        if flow is None:
            labels = find_labels(op, self.connections.by_name.get(op.connection))
            flow = self._flows[op.op] = OpFlow(labels, labels & BRINGING_LABELS, find_targets(op, labels))
        return flow

    def is_looked_for(self, label: str, connection: str, rules: Iterable[FlowRule]) -> bool:
        """Return whether a rule could hold for some op after this label came from this connection."""
        return any(
            rule.after == label and self._by_target[rule.then] - ({connection} if rule.elsewhere else set())
            for rule in rules
        )


def get_targets(catalog: Catalog, connections: Connections) -> FlowTargets:
    """Return the targets of a release. They are found again after connections have changed."""
    targets = catalog.get_derived(FlowTargets)
    if targets is None or targets.connections is not connections:
        targets = FlowTargets(catalog, connections)
        catalog.replace_derived(targets)
    return targets


class ReplayedCall(NamedTuple):
    """A call of a replayed turn: its op, the labels of the op, and the rule that would hold."""

    op: CatalogOp
    labels: frozenset[str]
    decision: FlowDecision | None


def replay(policy: FlowPolicy, ops: Iterable[CatalogOp], connections: Connections) -> list[ReplayedCall]:
    """Return what the rules would do with the calls of a turn, in order. A call that is refused brings nothing in."""
    calls: list[ReplayedCall] = []
    brought: dict[tuple[str, str], BroughtLabel] = {}
    for op in ops:
        labels = find_labels(op, connections.by_name.get(op.connection))
        decision = decide(policy, op, labels, brought.values())
        calls.append(ReplayedCall(op, labels, decision))
        if decision is None or not decision.refuses:
            for label in labels & BRINGING_LABELS:
                brought.setdefault((label, op.connection), BroughtLabel(label, op.connection, op.op))
    return calls
