"""CRM: lists, changes and refusals. A dry run changes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core.handler_contract import NotFound, StateConflict, Unavailable
from demo import crm, example_database
from demo.rows import MARA_ID, RENEWAL_ID
from tests.support.loops import for_each
from tests.support.rows.example_domains import check, create_data, respond, run

NOBODY = "00000000-0000-4000-8000-000000000000"
NEW_CONTACT = {"name": "A", "email": "a@b.example", "company": "C"}


@pytest.fixture(autouse=True)
def _data(settings: Any, tmp_path: Path) -> None:
    create_data(settings, tmp_path)


def read_all() -> list[Any]:
    with closing(sqlite3.connect(example_database.get_path())) as database:
        return [database.execute(f"SELECT * FROM {name} ORDER BY id").fetchall() for name in ("contacts", "deals")]  # noqa: S608


@for_each(
    "args, names",
    [
        ({}, ["Amina Diallo", "Jonas Weber", "Lena Fischer", "Mara Lindqvist", "Piotr Zielinski"]),
        ({"query": "NORDLICHT"}, ["Jonas Weber", "Mara Lindqvist"]),
        ({"query": "piotr@"}, ["Piotr Zielinski"]),
        ({"status": "lead"}, ["Amina Diallo", "Piotr Zielinski"]),
        ({"query": "' OR 1=1 --"}, []),
        ({"query": "%"}, []),
    ],
)
def test_contacts_are_listed_by_words_and_status(args: dict[str, str], names: list[str]) -> None:
    assert [contact["name"] for contact in run("list_contacts", **args)["contacts"]] == names


def test_deals_are_listed_by_contact_and_stage() -> None:
    deals, contacts = run("list_deals", limit=5), run("list_contacts", limit=2)

    titles = [deal["title"] for deal in deals["deals"]]
    assert titles == ["Newsletter", "Database support", "Renewal 2027", "Pilot in Dakar", "Web shop"]
    assert [deal["title"] for deal in run("list_deals", contact_id=MARA_ID)["deals"]] == ["Database support"]
    assert [deal["contact_name"] for deal in run("list_deals", stage="offered")["deals"]] == ["Amina Diallo"]
    assert (deals["has_more"], len(contacts["contacts"]), contacts["has_more"]) == (False, 2, True)


def test_contact_has_its_deals() -> None:
    result = run("get_contact", contact_id=MARA_ID.upper())

    assert (result["contact"]["email"], result["deals"][0]["title"]) == ("mara@nordlicht.example", "Database support")
    assert result["message"] == "Mara Lindqvist, 1 deal."


@pytest.mark.parametrize(
    ("tool_name", "args"),
    [
        ("create_contact", NEW_CONTACT),
        ("update_contact", {"contact_id": MARA_ID, "phone": "123"}),
        ("update_deal", {"deal_id": RENEWAL_ID, "stage": "won"}),
    ],
)
def test_dry_run_changes_nothing_and_a_call_does(tool_name: str, args: dict[str, Any]) -> None:
    before = read_all()
    check(tool_name, **args)
    assert read_all() == before

    response = respond(tool_name, args)

    assert read_all() != before
    assert response.entity_id
    assert response.entity_name


def test_update_changes_only_what_was_sent() -> None:
    before = run("get_contact", contact_id=MARA_ID)["contact"]
    after = run("update_contact", contact_id=MARA_ID, phone="123", notes="New number")["contact"]

    assert {name for name in after if after[name] != before[name]} == {"phone", "notes"}


@for_each(
    "tool_name, args",
    [
        ("update_contact", {"contact_id": MARA_ID, "notes": "Database"}),
        ("update_deal", {"deal_id": RENEWAL_ID, "stage": "open"}),
    ],
)
def test_update_to_the_same_values_is_unchanged(tool_name: str, args: dict[str, Any]) -> None:
    before = read_all()
    response = respond(tool_name, args)

    assert (response.warnings, response.changed_ids) == (("unchanged",), ())
    assert read_all() == before


@for_each(
    "tool_name, args, reason",
    [
        ("create_contact", NEW_CONTACT | {"email": "MARA@nordlicht.example"}, "email_taken"),
        ("update_contact", {"contact_id": MARA_ID, "email": "jonas@nordlicht.example"}, "email_taken"),
        ("create_contact", NEW_CONTACT, "crm_full"),
    ],
)
def test_email_of_another_contact_and_too_many_contacts_are_refused_before_the_write(
    monkeypatch: pytest.MonkeyPatch, tool_name: str, args: dict[str, Any], reason: str
) -> None:
    monkeypatch.setattr(crm, "MAX_CONTACTS", 5 if reason == "crm_full" else 6)
    with pytest.raises(StateConflict) as error:
        check(tool_name, **args)
    assert error.value.reason == reason


@for_each(
    "tool_name, args",
    [
        ("get_contact", {"contact_id": NOBODY}),
        ("update_contact", {"contact_id": NOBODY, "name": "A"}),
        ("update_deal", {"deal_id": NOBODY, "stage": "won"}),
    ],
)
def test_unknown_id_says_where_ids_are(tool_name: str, args: dict[str, Any]) -> None:
    with pytest.raises(NotFound, match=r"crm\.(contact|deal)\.list"):
        run(tool_name, **args)


def test_busy_database_has_changed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example_database, "WAIT_SECONDS", 0.01)
    with example_database.open_for_writing(keep=False), pytest.raises(Unavailable):
        run("update_deal", deal_id=RENEWAL_ID, stage="won")
