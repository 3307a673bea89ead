"""The command that checks the draft, for people and programs."""

import json

import pytest
from django.core.management import CommandError, call_command

from registry.models import Op
from tests.support.rows.copy_rows import make_op
from tests.support.rows.op_entries import build_schema

pytestmark = pytest.mark.django_db

UNCLEAR = build_schema(("title",), title={"type": "string"}, amount={"type": "number"})


def test_command_lists_warnings_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    make_op(parameters_schema=UNCLEAR)

    call_command("check_catalog")

    assert capsys.readouterr().out.splitlines() == [
        "warns number_without_unit: onto.task.add, parameters_schema/properties/amount/description: The copy does "
        "not give the unit or range of amount. State the unit or range in the description, or set a minimum and a "
        "maximum.",
        "Blocking: 0, warnings: 1, hints: 0.",
    ]


def test_command_fails_on_errors(capsys: pytest.CaptureFixture[str]) -> None:
    make_op(parameters_schema=build_schema(name={"type": "string"}))

    with pytest.raises(CommandError) as failed:
        call_command("check_catalog")

    assert failed.value.returncode == 1
    assert "blocks example_invalid: onto.task.add, examples/0: " in capsys.readouterr().out


def test_command_fails_for_an_op_that_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    make_op("onto.task.lost", connection=None, parameters_schema=UNCLEAR)

    for options in ({}, {"op": "onto.task.lost"}):
        with pytest.raises(CommandError, match="cannot be published"):
            call_command("check_catalog", **options)
        assert "blocks cannot_run: onto.task.lost, connection: Cannot run: no connection" in capsys.readouterr().out


def test_command_checks_one_op(capsys: pytest.CaptureFixture[str]) -> None:
    make_op()
    make_op("onto.task.unclear", parameters_schema=UNCLEAR)

    call_command("check_catalog", op="onto.task.add")
    assert capsys.readouterr().out == "Blocking: 0, warnings: 0, hints: 0.\n"

    call_command("check_catalog", op="onto.task.unclear", json=True)
    (finding,) = json.loads(capsys.readouterr().out)
    assert (finding["op"], finding["rule"], finding["severity"]) == (
        "onto.task.unclear",
        "number_without_unit",
        "warns",
    )


def test_command_checks_only_some_changes(capsys: pytest.CaptureFixture[str]) -> None:
    make_op()
    make_op("toys.goal.unclear", parameters_schema=UNCLEAR)

    call_command("check_catalog", only=["onto*", "root"])
    assert capsys.readouterr().out == "Blocking: 0, warnings: 0, hints: 0.\n"
    call_command("check_catalog", only=["*"])
    assert "warnings: 1" in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"No unpublished change matches cal\.\*"):
        call_command("check_catalog", only=["cal.*"])


def test_command_reports_an_unknown_op_with_another_exit_code() -> None:
    with pytest.raises(CommandError, match=r"There is no op a\.b") as failed:
        call_command("check_catalog", op="a.b")

    assert failed.value.returncode == 2


def test_command_escapes_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    make_op(summary="Send\u202e it")
    Op.objects.update(source="crm")

    call_command("check_catalog")

    assert "\u202e" not in capsys.readouterr().out
