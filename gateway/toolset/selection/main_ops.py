"""The ops that a selection shows whatever their score: the main ones of the kinds of rows that a message can mean."""

from collections.abc import Collection

from gateway.toolset.selection.evidence import Evidence, get_main_entities
from gateway.toolset.selection.message_intent import REPORT, Intent
from registry.catalog.model import CatalogOp
from registry.search import intent

MAX_LIKELY_ENTITIES = 2  # kinds of rows whose main ops are shown whatever their score
MAX_OF_SERVICES = 4  # writes of services that are named, or were called lately, whatever they are about
MAX_TOPICAL = 2  # ops shown for topics
MAIN_READS = ("list", "get")
MAIN_WRITES = (intent.CREATE, intent.UPDATE, intent.DELETE)
UNDO = "undo"


def list_main_writes(evidence: Evidence) -> list[CatalogOp]:
    """Return the writes of the likeliest kinds of rows that the message can mean, and undo after a change."""
    if evidence.asked.intent == Intent.READ:
        return []
    wanted = set(evidence.asked.actions or (intent.UPDATE,))
    if evidence.recent_weight and (evidence.asked.is_follow_up or evidence.refers_back):
        wanted.add(intent.UPDATE)
    if evidence.asked.is_negative and (evidence.asked.is_follow_up or evidence.asked.actions == REPORT):
        wanted.add(intent.DELETE)  # what is not wanted any more is often deleted
    likely = _list_likely_entities(evidence)
    if evidence.asked.is_follow_up or not evidence.named:  # "replace it by" is about what was read last
        likely += [op.entity for op in evidence.recent[:1] if op.entity and evidence.recent_weight]
    is_certain = evidence.named and evidence.asked.actions != REPORT
    likely += () if is_certain else get_main_entities(evidence.request.context)[:1]
    writes = [op for op in evidence.ranked if op.is_write]
    main = [
        op
        for entity in dict.fromkeys(likely)
        for op in writes
        if op.entity == entity and _is_main_write(op, wanted, evidence) and evidence.may_delete(op)
    ]
    of_services = [op for op in writes if op.connection in evidence.services and _is_main_write(op, wanted, evidence)]
    undo = [op for op in writes if op.action == UNDO] if evidence.has_changed else []
    return main + of_services[:MAX_OF_SERVICES] + undo


def list_main_reads(evidence: Evidence) -> list[CatalogOp]:
    """Return the lists and gets of the likeliest kinds of rows that a question can mean."""
    likely = _list_likely_entities(evidence)
    if not evidence.named:
        likely += get_main_entities(evidence.request.context)[:1]
    reads = [op for op in evidence.ranked if not op.is_write and op.action in MAIN_READS]
    return [
        op
        for entity in dict.fromkeys(likely)
        for op in reads
        if op.entity == entity and op.op == f"{op.group}.{op.action}" and op.op in evidence.pool
    ]


def list_topical(evidence: Evidence) -> list[CatalogOp]:
    """Return the best op of each topic that the message has: linking, moving, history and so on."""
    best: dict[str, CatalogOp] = {}
    for op in evidence.ranked:
        for topic in evidence.topics & evidence.index.traits[op.op].path_parts:
            best.setdefault(topic, op)
    chosen = sorted(best.values(), key=lambda op: -evidence.scores[op.op])
    return list({op.op: op for op in chosen}.values())[:MAX_TOPICAL]


def _list_likely_entities(evidence: Evidence) -> list[str]:
    """Return the kinds of rows with the best scores."""
    entities = sorted(evidence.entity_scores, key=lambda entity: (-evidence.entity_scores[entity], entity))
    return [entity for entity in entities if entity][:MAX_LIKELY_ENTITIES]


def _is_main_write(op: CatalogOp, wanted: Collection[str], evidence: Evidence) -> bool:
    """Whether a write does what is wanted. A service has no undo, so after a change its rows keep all writes."""
    if op.is_of_service and op.connection not in evidence.services and op.entity in evidence.index.own_entities:
        return False
    if op.is_of_service and evidence.has_changed:
        return True
    return evidence.index.traits[op.op].action in wanted and (op.is_of_service or op.action in MAIN_WRITES)
