"""Every rule of the draft that SQL can express is a constraint, tested by its name."""

from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from registry.models import (
    Activation,
    Agent,
    Connection,
    EvalCase,
    Group,
    Op,
    OpAlias,
    Pin,
    PolicyRule,
    PromptSection,
    Release,
    ReviewRequest,
    ScheduledPublish,
    UpstreamDefinition,
    Vocabulary,
)
from tests.support.loops import for_each
from tests.support.rows.copy_rows import AT, make_op
from tests.support.rows.switches import create_switch

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

VIOLATIONS: dict[str, Any] = {
    "group_summary_not_empty": lambda: Group.objects.create(path="a", summary=""),
    "group_discovery_name_unique": lambda: [
        Group.objects.create(path=path, summary="x", discovery_name="discover_x") for path in "ab"
    ],
    "op_summary_not_empty": lambda: make_op(summary=""),
    "op_kind_known": lambda: make_op(kind="delete"),
    "op_status_known": lambda: make_op(status="draft"),
    "op_timeout_in_range": lambda: make_op(timeout_ms=99),
    "op_successor_when_retired": lambda: make_op(successor="onto.task.other"),
    "rule_kind_known": lambda: PolicyRule.objects.create(op=make_op(), kind="maybe", text="x"),
    "rule_text_not_empty": lambda: PolicyRule.objects.create(op=make_op(), kind="do", text=""),
    "section_name_unique_in_prompt": lambda: [section(), section(title="Other")],
    "section_not_empty": lambda: section(text=""),
    "section_status_known": lambda: section(status="draft"),
    "agent_not_empty": lambda: agent(system_prompt=""),
    "agent_status_known": lambda: agent(status="draft"),
    "pin_place_unique": lambda: [pin(), pin(ops=["a.b"])],
    "pin_surface_known": lambda: pin(surface="gateway"),
    "pin_budget_in_range": lambda: pin(max_tokens=49),
    "vocabulary_meaning_unique": lambda: [vocabulary(), vocabulary(words=["to_do"])],
    "vocabulary_kind_known": lambda: vocabulary(kind="noun"),
    "vocabulary_not_empty": lambda: vocabulary(meaning=""),
    "vocabulary_place_only_of_values": lambda: vocabulary(argument="priority"),
    "connection_http_has_base_url": lambda: Connection.objects.create(name="shop", kind="http"),
    "connection_mcp_has_server": lambda: Connection.objects.create(name="notes", kind="mcp"),
    "connection_has_a_place": lambda: Connection.objects.create(name="shop", max_in_flight=0),
    "upstream_definition_once": lambda: [definition(), definition()],
    "eval_case_request_not_empty": lambda: EvalCase.objects.create(request="", op="a.b"),
    "eval_case_set_known": lambda: EvalCase.objects.create(request="x", op="a.b", case_set="other"),
    "review_open_until_end": lambda: review(state="published"),
    "scheduled_publish_ends_once": lambda: scheduled(state="published"),
    "activation_one_live": lambda: [activation("a"), activation("b")],
    "release_withdrawn_has_reason": lambda: Release.objects.filter(activations=activation("a")).update(withdrawn_at=AT),
    "switch_kind_known": lambda: create_switch("a", "planet"),
    "switch_once_a_target": lambda: [create_switch("a"), create_switch("a")],
    "switch_off_has_reason": lambda: create_switch("a", reason=""),
}


# SQLite names a unique index by its columns.
COLUMNS = {
    "activation_one_live": "registry_activation.is_live",
    "group_discovery_name_unique": "registry_group.discovery_name",
    "pin_place_unique": "registry_pin.surface, registry_pin.context, registry_pin.model_family",
    "upstream_definition_once": "registry_upstreamdefinition.connection_id, registry_upstreamdefinition.upstream_name",
    "switch_once_a_target": "registry_switch.kind, registry_switch.name",
    "vocabulary_meaning_unique": "registry_vocabulary.kind, registry_vocabulary.argument, registry_vocabulary.meaning, "
    "registry_vocabulary.ops",
    "section_name_unique_in_prompt": "registry_promptsection.prompt, registry_promptsection.name",
}


def section(**fields: Any) -> PromptSection:
    return PromptSection.objects.create(**{"prompt": "guide", "name": "ids", "title": "Ids", "text": "Whole."} | fields)


def agent(**fields: Any) -> Agent:
    return Agent.objects.create(**{"name": "explorer", "summary": "Finds", "system_prompt": "You find."} | fields)


def definition() -> UpstreamDefinition:
    shop, _ = Connection.objects.get_or_create(name="shop")
    return UpstreamDefinition.objects.create(connection=shop, upstream_name="GET /pets", seen_at=timezone.now())


def pin(**fields: Any) -> Pin:
    return Pin.objects.create(**{"surface": "hybrid", "ops": []} | fields)


def vocabulary(**fields: Any) -> Vocabulary:
    return Vocabulary.objects.create(**{"kind": "entity", "meaning": "task", "words": ["todo"]} | fields)


def review(**fields: Any) -> ReviewRequest:
    return ReviewRequest.objects.create(**{"version": "0", "asked_by": "ed", "asked_at": timezone.now()} | fields)


def scheduled(**fields: Any) -> ScheduledPublish:
    now = timezone.now()
    return ScheduledPublish.objects.create(
        **{"version": "0", "publish_at": now, "created_by": "ed", "created_at": now} | fields
    )


def activation(version: str, *, is_live: bool = True) -> Activation:
    release = Release.objects.create(
        version=version, content="{}", tokens={}, op_count=0, created_at=timezone.now(), created_by="tests"
    )
    return Activation.objects.create(
        release=release, is_live=is_live, note="", activated_at=timezone.now(), activated_by="tests"
    )


def test_every_constraint_has_a_violation_test() -> None:
    named = {
        constraint.name
        for model in apps.get_app_config("registry").get_models()
        for constraint in model._meta.constraints
    }

    assert named == set(VIOLATIONS)


@for_each("name", VIOLATIONS)
def test_constraint_refuses_a_violation(name: str) -> None:
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        VIOLATIONS[name]()

    known_as = COLUMNS.get(name, name) if connection.vendor == "sqlite" else name
    assert known_as in str(refused.value)


@for_each(
    "violate",
    [
        lambda: Op.objects.create(op="x.y", tool_name=make_op().tool_name, kind="read", summary="x"),
        lambda: Op.objects.create(op=make_op().op, tool_name="other", kind="read", summary="x"),
        lambda: Group.objects.create(path=make_op().op.rpartition(".")[0], summary="x"),
        lambda: OpAlias.objects.create(op=make_op(), name="onto.task.add.alias"),
    ],
)
def test_names_are_unique(violate: Any) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        violate()
