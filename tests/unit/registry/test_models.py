"""Every rule of the draft that can be SQL is a constraint, tested by its name; forms give the same as a sentence."""

from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from registry.models import Activation, Example, Group, Op, OpAlias, PolicyRule, PromptSection, Release, get_parent_path
from tests.support.copy_rows import make_op
from tests.support.op_entries import schema

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

VIOLATIONS: dict[str, Any] = {
    "group_summary_not_empty": lambda: Group.objects.create(path="a", summary=""),
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
    "activation_one_live": lambda: [activation("a"), activation("b")],
}


# What SQLite calls a unique index: its columns.
COLUMNS = {
    "activation_one_live": "registry_activation.is_live",
    "section_name_unique_in_prompt": "registry_promptsection.prompt, registry_promptsection.name",
}


def section(**fields: Any) -> PromptSection:
    return PromptSection.objects.create(**{"prompt": "guide", "name": "ids", "title": "Ids", "text": "Whole."} | fields)


def activation(version: str, *, is_live: bool = True) -> Activation:
    release = Release.objects.create(
        version=version, content="{}", tokens={}, op_count=0, created_at=timezone.now(), created_by="tests"
    )
    return Activation.objects.create(
        release=release, is_live=is_live, note="", activated_at=timezone.now(), activated_by="tests"
    )


# Violated where the models that have them are tested: test_switching.py, test_releases.py.
ELSEWHERE = {"switch_kind_known", "switch_once_a_target", "switch_off_has_reason", "release_withdrawn_has_reason"}


def test_every_constraint_is_violated_below() -> None:
    named = {
        constraint.name
        for model in apps.get_app_config("registry").get_models()
        for constraint in model._meta.constraints
    }

    assert named == {*VIOLATIONS, *ELSEWHERE}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_constraint_holds(name: str) -> None:
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        VIOLATIONS[name]()

    known_as = COLUMNS.get(name, name) if connection.vendor == "sqlite" else name
    assert known_as in str(refused.value)


@pytest.mark.parametrize("timeout", [100, 120_000])
def test_timeout_may_be_at_the_ends_of_its_range(timeout: int) -> None:
    assert make_op(timeout_ms=timeout).pk


def test_many_releases_may_have_been_live() -> None:
    for version in ("a", "b"):
        activation(version, is_live=False)
    activation("c")

    assert Activation.objects.filter(is_live=True).count() == 1


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"op": "Onto.Task"}, "op", "A path is lower-case words joined by dots, such as onto.task.update."),
        ({"op": "onto..task"}, "op", "A path is lower-case words joined by dots, such as onto.task.update."),
        ({"op": "onto.task\n"}, "op", "A path is lower-case words joined by dots, such as onto.task.update."),
        ({"tool_name": "a b"}, "tool_name", "A name has letters, digits, dots, dashes and underscores; at most 128."),
        ({"contexts": "project"}, "contexts", 'Send a list of non-empty strings, such as ["project", "global"].'),
        ({"keywords": ["  "]}, "keywords", 'Send a list of non-empty strings, such as ["project", "global"].'),
        ({"argument_aliases": {"a": 1}}, "argument_aliases", 'Send an object of strings, such as {"search": "query"}.'),
        ({"op": "onto.task"}, "op", "A group has this path already. Rename the op or the group."),
        (
            {"op": "far.away"},
            "op",
            "The group far does not exist. Add it first.",
        ),
        ({"timeout_ms": 50}, "timeout_ms", "Ensure this value is greater than or equal to 100."),
        (
            {"parameters_schema": schema(a={"$ref": "http://example.com"})},
            "parameters_schema",
            "A $ref points outside the schema. Copy its target under $defs.",
        ),
        (
            {"parameters_schema": schema(a={"pattern": "\ud800"})},
            "parameters_schema",
            "The schema has text or a number that JSON cannot represent. Delete it.",
        ),
    ],
)
def test_op_form_says_what_to_send(changes: dict[str, Any], field: str, sentence: str) -> None:
    op = make_op()
    for name, value in changes.items():
        setattr(op, name, value)

    with pytest.raises(ValidationError) as refused:
        op.full_clean()

    assert sentence in refused.value.message_dict[field]


def test_group_form_refuses_the_path_of_an_op() -> None:
    make_op()

    with pytest.raises(ValidationError, match=r"An op has this path already\. Rename the op or the group\."):
        Group(path="onto.task.add", summary="x").full_clean()
    Group(path="onto.task.more", summary="x").full_clean()


def test_op_form_refuses_a_name_that_is_another_ops_alias() -> None:
    alias = make_op("onto.task.other").aliases.get()
    op = make_op(tool_name=alias.name)

    with pytest.raises(ValidationError, match="Another op has this name as an alias"):
        op.full_clean()


def test_op_form_takes_what_can_be_published() -> None:
    make_op(contexts=["project"], keywords=["new"], status="retired", successor="x.y").full_clean()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({}, '/: "title" is a required property.'),
        ({"title": 1}, '/title: 1 is not of type "string".'),
    ],
)
def test_example_form_refuses_what_its_op_would(args: Any, sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Example(op=make_op(), args=args).clean()

    assert refused.value.message_dict == {"args": [sentence]}


def test_example_form_ignores_display_only_and_leaves_a_bad_schema_to_its_op() -> None:
    Example(op=make_op(display_only=["task_title"]), args={"title": "x", "task_title": "y"}).clean()
    Example(op=make_op("onto.task.other", parameters_schema=[]), args={"any": 1}).clean()
    Example(args={}).clean()


@pytest.mark.parametrize("taken", ["onto.task.add", "onto_task_add"])
def test_alias_form_refuses_a_name_that_means_an_op(taken: str) -> None:
    op = make_op()

    with pytest.raises(ValidationError, match="has this path or tool name already"):
        OpAlias(op=op, name=taken).clean()
    OpAlias(op=op, name="free").clean()


def test_rows_read_as_people_know_them() -> None:
    op = make_op()

    shown = [op, op.connection, op.aliases.get(), op.examples.get(), op.rules.get(kind="do"), Group.objects.first()]
    assert [str(row) for row in shown] == [
        *("onto.task.add", "workspace", "onto.task.add.alias", "Minimal", "do: Rule do", "onto"),
    ]
    live = activation("0123456789abcdef")
    assert str(live.release) == "0123456789ab"
    assert str(live).startswith("0123456789ab at ")


@pytest.mark.parametrize(
    ("path", "parent"), [("onto.task.add", "onto.task"), ("onto", "root"), ("root", "root"), ("", "root")]
)
def test_parent_of_is_the_group_above(path: str, parent: str) -> None:
    assert get_parent_path(path) == parent
