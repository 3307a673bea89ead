"""Requests about connected services: what the help names is read, and its rows are a table."""

from typing import Any

from chat.scripted_model.plans import Answer
from tests.support.loops import for_each
from tests.unit.chat.scripted_model.requests import (
    ask,
    build_assistant,
    build_exec,
    build_round,
    build_success,
    build_tools,
    build_user,
    get_exec,
)


def build_help_item(path: str, summary: str, kind: str = "read", **args: str) -> dict[str, Any]:
    return {"path": path, "summary": summary, "kind": kind, "args": args}


CLINIC: list[dict[str, Any]] = [
    build_help_item("clinic.patient.list", "List patients", q="string", page="integer"),
    build_help_item("clinic.patient.get", "Get a patient", id="integer, required"),
    build_help_item("clinic.patient.create", "Add a patient", kind="write", name="string, required"),
    build_help_item("clinic.appointment.list", "List appointments", status="booked|cancelled", day="date"),
    build_help_item("clinic.stat.list", "Get the figures of today"),
    build_help_item("onto.task.list", "List patients of nobody"),
]
PATIENTS = [{"id": 1, "name": "Anna | Berg", "born": "1980-02-01", "vip": True, "tags": []}, {"id": 2, "name": "Ben"}]


def show_help(*items: dict[str, Any], call_id: str = "help") -> list[dict[str, Any]]:
    return build_round("tool_help", {"query": "x"}, {"type": "search", "items": items}, call_id=call_id)


def ask_clinic(message: str) -> Answer:
    """Return what follows the help for a message, which the model asks for first."""
    (call,) = ask(build_user(message)).tool_calls
    assert (call.name, call.arguments) == ("tool_help", {"query": message})
    return ask(build_user(message), show_help(*CLINIC))


@for_each(
    "message, op, args",
    [
        ("list the patients of the clinic", "clinic.patient.list", {}),
        ("patients of the clinic that I should know of, please", "clinic.patient.list", {}),
        ("find the patients “Berg”", "clinic.patient.list", {"q": "Berg"}),
        ("show patient 12", "clinic.patient.get", {"id": 12}),
        ("which appointments are booked?", "clinic.appointment.list", {"status": "booked"}),
        ("which appointments are tomorrow?", "clinic.appointment.list", {"day": "2026-11-25"}),
        ("Get the figures of today", "clinic.stat.list", {}),
    ],
)
def test_read_that_the_help_names_is_run_with_what_the_message_says(
    message: str, op: str, args: dict[str, Any]
) -> None:
    assert get_exec(ask_clinic(message)) == (op, args)


def test_op_is_run_after_its_own_help_if_the_search_shows_no_args() -> None:
    message = build_user("list the patients")
    search = show_help({"path": "clinic.patient.list", "summary": "List patients", "kind": "read"})

    (call,) = ask(message, search).tool_calls
    assert (call.name, call.arguments) == ("tool_help", {"path": "clinic.patient.list"})

    page = build_round("tool_help", call.arguments, {"path": "clinic.patient.list", "type": "op"}, call_id="page")
    assert get_exec(ask(message, search, page)) == ("clinic.patient.list", {})


def test_rows_are_a_table() -> None:
    asked = [build_user("list the patients"), *show_help(*CLINIC)]
    op = "clinic.patient.list"

    assert ask(asked, build_exec(op, build_success(op, items=PATIENTS, total=30))).text == (
        "30 patients, from `clinic.patient.list`:\n\n"
        "| ID | Name | Born | Vip |\n| --- | --- | --- | --- |\n"
        "| 1 | Anna \\| Berg | 1980-02-01 | yes |\n| 2 | Ben | – | – |\n\n… and 28 more."
    )
    nested = build_success(op, data={"patients": []})
    assert ask(asked, build_exec(op, nested)).text == "`clinic.patient.list` found no patients."


def test_words_that_no_argument_takes_are_admitted() -> None:
    op = "clinic.patient.list"
    rows = build_exec(op, build_success(op, items=PATIENTS))

    def answer(message: str) -> str:
        return ask(build_user(message), show_help(*CLINIC), rows).text

    assert answer("show the patients of Doctor Holm").endswith(
        "\n\nThis is everything: as the scripted model, I did not filter by “Doctor Holm”."
    )
    assert "everything" not in answer("list all the patients of the clinic, please")
    assert "everything" not in answer("find the patients “Berg”")


def test_guide_is_its_sections() -> None:
    item = build_help_item("util.buildos.overview", "Explain what this workspace is")
    sections = [
        {"name": "a", "title": "What this is", "text": "A workspace."},
        {"name": "b", "title": "B", "text": "C"},
    ]
    answered = build_exec(item["path"], build_success(item["path"], sections=sections))

    text = ask(build_user("explain the buildos overview"), show_help(item), answered).text

    assert text == "**What this is**\n\nA workspace.\n\n**B**\n\nC"


def test_single_row_is_a_table_of_its_fields() -> None:
    answer = build_success("clinic.stat.list", openVisits=4, rooms={"a": 1})

    text = ask(build_user("the figures of today"), show_help(*CLINIC), build_exec("clinic.stat.list", answer)).text

    assert text == "`clinic.stat.list` returned:\n\n| Field | Value |\n| --- | --- |\n| Open visits | 4 |"


@for_each("message", ["tell me more about Ben", "Tell me more about “Ben”."])
def test_row_that_was_shown_is_told_in_full(message: str) -> None:
    op = "clinic.patient.list"
    earlier = [build_user("list the patients"), *build_exec(op, build_success(op, items=PATIENTS))]

    text = ask(earlier, build_assistant("2 patients"), build_user(message)).text

    assert text == f"From `{op}`:\n\n| Field | Value |\n| --- | --- |\n| ID | 2 |\n| Name | Ben |"


def test_what_cannot_be_done_is_said_and_nothing_runs() -> None:
    writing, lacking = ask_clinic("add a patient “Cleo”"), ask(build_user("show a patient"), show_help(CLINIC[1]))

    assert writing.text.startswith("`clinic.patient.create` can do that, but as the scripted model I only read")
    assert lacking.text == "`clinic.patient.get` needs `id`. Name it in your message."
    assert (writing.tool_calls, lacking.tool_calls) == ((), ())
    unknown = ask(build_user("why is the sky blue today?"), show_help(*CLINIC)).text
    assert unknown.startswith("I did not understand that. I am the scripted model")


def test_rows_of_the_workspace_are_found_as_before() -> None:
    no_service = show_help({"path": "onto.search", "summary": "Search all rows for words", "kind": "read"})

    assert get_exec(ask(build_user("show my tasks")))[0] == "onto.task.list", "no help is needed"
    assert get_exec(ask(build_user("find the kitchen"), no_service))[0] == "onto.search"
    assert get_exec(ask(build_user("which appointments are tomorrow?"), no_service))[0] == "cal.event.list"
    without_help = ask(build_user("list the patients"), tools=build_tools("search_ontology"))
    assert without_help.tool_calls[0].name == "search_ontology"
