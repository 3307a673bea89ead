"""Edits that the report of misses suggests: helpful, and never harmful."""

from typing import Any

import pytest

from console.reports import suggested_edits
from registry.catalog import builder
from registry.catalog.model import Catalog
from registry.drafts.edits import OpEdit
from registry.files import loader
from registry.snapshot.entries import OpEntry


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return builder.build_catalog("", loader.read_shipped_catalog())


def find_entry(op: str) -> OpEntry:
    return next(entry for entry in loader.read_shipped_catalog()["ops"] if entry["op"] == op)


@pytest.mark.parametrize(
    ("name", "op", "text"),
    [
        ("onto.task.complete", "onto.task.update", "To complete, send state_key done."),
        ("onto.task.lisst", "onto.task.list", "onto.task.lisst"),
        ("onto.task.find", "onto.task.search", "onto.task.find"),
        ("onto.project.archive", "onto.project.update", "To archive, send state_key cancelled."),
        ("onto.task.remove", "", "onto.task.remove"),  # it deletes: a person chooses
        ("onto.task.delet", "", "onto.task.delet"),
        ("crm.contact.list", "", "crm.contact.list"),
        ("frobnicate", "", "frobnicate"),
    ],
)
def test_an_unknown_name_names_only_an_op_that_does_the_same(name: str, op: str, text: str, catalog: Catalog) -> None:
    suggested = suggested_edits.suggest_for_name(name, catalog)

    assert (suggested.op, suggested.text) == (op, text)
    assert suggested.edit == (OpEdit.DO if text.startswith("To ") else OpEdit.ALIAS)


def test_without_a_live_release_a_person_chooses_the_op() -> None:
    assert suggested_edits.suggest_for_name("onto.task.lisst", None).op == ""


def test_a_wrong_choice_becomes_a_rule_in_the_words_of_policy() -> None:
    suggested = suggested_edits.suggest_for_choice("onto.entity.get", "onto.project.get", "Get one project by id.")

    assert (suggested.op, suggested.edit) == ("onto.entity.get", OpEdit.DONT)
    assert suggested.text == "Never use it to get one project by id; use onto.project.get."


@pytest.mark.parametrize(
    ("argument", "code", "text"),
    [
        ("state_key", "enum", "Send state_key as one of todo, in_progress, blocked, done."),
        ("task_id", "required", "Always send task_id."),
        ("due_at", "format", "Send due_at as date or date-time."),
        ("gone", "enum", ""),
    ],
)
def test_a_wrong_value_becomes_a_rule_that_says_what_to_send(argument: str, code: str, text: str) -> None:
    assert suggested_edits.suggest_for_value(argument, code, find_entry("onto.task.update")).text == text


def test_a_rule_for_a_value_leaves_out_the_default() -> None:
    entry = find_entry("onto.task.create")

    text = suggested_edits.suggest_for_value("priority", "type", entry).text

    assert text == "Send priority as integer, 1 (most urgent)..5."


@pytest.mark.parametrize(("name", "argument"), [("status", "state_key"), ("titel", "title"), ("xyzzy", "")])
def test_an_unknown_argument_becomes_an_alias_of_what_it_means(name: str, argument: str, catalog: Catalog) -> None:
    entry: Any = find_entry("onto.task.update")
    assert suggested_edits.suggest_for_argument(name, entry, catalog.vocabulary).argument == argument
