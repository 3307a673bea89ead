"""Read the entry that an op's page contains from its forms."""

from typing import Any

import pytest
from django.contrib import admin
from django.http import QueryDict
from django.test import RequestFactory

from console.copy import form_entry
from registry.catalog.model import Catalog
from registry.models import Op, OpAlias, PolicyRule
from registry.snapshot import snapshot
from tests.support.console.admin_pages import read_fields
from tests.support.loops import for_each
from tests.support.rows.copy_rows import TITLE_SCHEMA, make_op
from tests.support.upstreams import any_upstream

pytestmark = pytest.mark.django_db


@pytest.fixture
def op_forms(admin_user: Any) -> "OpForms":
    return OpForms(admin_user)


class OpForms:
    """The forms of an op's page, without a request."""

    def __init__(self, user: Any) -> None:
        self.admin = admin.site.get_model_admin(Op)
        self.request = RequestFactory().get("/")
        self.request.user = user

    def build_forms(self, op: Op | None, data: Any = None) -> tuple[Any, list[Any]]:
        form = self.admin.get_form(self.request, op, change=op is not None)(data, instance=op)
        pairs = self.admin.get_formsets_with_inlines(self.request, op)
        return form, [
            formset(data=data, instance=form.instance, queryset=inline.get_queryset(self.request))
            for formset, inline in pairs
        ]

    def get_form_data(self, op: Op | None) -> dict[str, Any]:
        form, formsets = self.build_forms(op)
        forms = [form, *(each for formset in formsets for each in (formset.management_form, *formset.forms))]
        sent = read_fields(field for each in forms for field in each)
        return {name: value.replace("\n", "\r\n") if isinstance(value, str) else value for name, value in sent.items()}

    def read_entry(self, op: Op | None, sent: dict[str, Any]) -> form_entry.FormEntry:
        data = QueryDict(mutable=True)
        for name, value in sent.items():
            data.setlist(name, value if isinstance(value, list) else [value])
        return form_entry.read_op_forms(*self.build_forms(op, data))


def test_unchanged_form_gives_the_entry_of_the_draft(op_forms: OpForms, live_catalog: Catalog) -> None:
    for op in Op.objects.select_related("connection").prefetch_related("rules", "examples", "aliases"):
        entry = snapshot.op_to_entry(op)

        op_form = op_forms.read_entry(op, op_forms.get_form_data(op))

        assert op_form.entry == entry
        assert op_form.unreadable == []


def test_form_entry_equals_the_entry_after_saving(op_forms: OpForms) -> None:
    op = make_op()
    PolicyRule.objects.create(op=op, kind="do", text="Second", position=2)
    sent = op_forms.get_form_data(op) | {"summary": "New", "description": "a\r\nb", "keywords": "x", "contexts": ""}
    sent |= {"rules-TOTAL_FORMS": "6", "rules-4-kind": "do", "rules-4-text": "Between", "rules-4-position": "1"}
    sent |= {"rules-5-kind": "do", "rules-5-text": "Never mind", "rules-5-position": "5", "rules-5-DELETE": "on"}
    sent |= {"examples-0-args": '{"title": "B"}', "aliases-0-DELETE": "on"}

    op_form = op_forms.read_entry(op, sent)

    assert op_form.unreadable == []
    entry = op_form.entry
    assert (entry["summary"], entry["description"], entry["keywords"]) == ("New", "a\nb", ["x"])
    assert entry["policy"]["do"] == ["Rule do", "Between", "Second"]
    assert entry["examples"] == [{"title": "Minimal", "args": {"title": "B"}}]
    assert "aliases" not in entry
    assert Op.objects.get().summary == "Add onto.task.add"
    assert not PolicyRule.objects.filter(text="Between").exists()


def test_entry_path_maps_to_its_form_input(op_forms: OpForms) -> None:
    op = make_op()
    op.rules.filter(kind="do").update(position=1)
    PolicyRule.objects.create(op=op, kind="do", text="First", position=0)
    OpAlias.objects.create(op=op, name="a")
    sent = op_forms.get_form_data(op)

    op_form = op_forms.read_entry(op, sent)

    assert sent[op_form.find_input("policy/do/0")[0]] == "First"
    assert sent[op_form.find_input("policy/do/1")[0]] == "Rule do"
    assert sent[op_form.find_input("aliases/1")[0]] == "onto.task.add.alias"
    assert op_form.find_input("examples/0") == ("examples-0-args", "")
    assert op_form.find_input("examples/0/title") == ("examples-0-title", "")
    assert op_form.find_input("parameters_schema/properties/a~1b") == ("parameters_schema", "/properties/a~1b")
    assert op_form.find_input("help/short")[0] == ""
    assert op_form.labels["examples-0-args"] == "Example 1, args"
    assert op_form.texts["parameters_schema"] == sent["parameters_schema"]


@for_each(
    "name, text, message, shown",
    [
        ("summary", "", "This field is required.", ""),
        ("summary", "x" * 300, "at most 200 characters", "x" * 200),
        ("timeout_ms", "soon", "whole number", 30_000),
        ("parameters_schema", '{"type":\n "object"', "Line 2, column 10: Invalid JSON", TITLE_SCHEMA),
        ("connection", "999999", "not one of the available choices", any_upstream.CONNECTION),
        ("notes", "a\x00b", "Null characters are not allowed", "ab"),
    ],
    undone=True,
)
def test_form_entry_reports_values_that_a_column_refuses(
    op_forms: OpForms, name: str, text: str, message: str, shown: Any
) -> None:
    op = make_op()

    op_form = op_forms.read_entry(op, op_forms.get_form_data(op) | {name: text})

    assert [each.input for each in op_form.unreadable] == [name]
    assert message in op_form.unreadable[0].message
    assert op_form.unreadable[0].keeps_saved_value == (shown != text[:200].replace("\x00", ""))
    assert snapshot.get_value(op_form.entry, name) == shown


def test_form_entry_reads_a_new_op(op_forms: OpForms) -> None:
    op_form = op_forms.read_entry(None, op_forms.get_form_data(None) | {"op": "onto.task.new"})

    assert op_form.entry["op"] == "onto.task.new"
    assert {each.input for each in op_form.unreadable} == {"summary", "tool_name", "kind"}
