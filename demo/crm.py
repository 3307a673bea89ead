"""Example domain crm: contacts and deals in the example database."""

import sqlite3
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from core.handler_contract import NotFound, OpHandler, OpOutcome, OpRequest, StateConflict
from demo import example_database

MAX_CONTACTS = 1_000

Change = Callable[[sqlite3.Connection, OpRequest], OpOutcome]

# Every parameter that was not sent is null, and then restricts or changes nothing.
_LIST_CONTACTS = """
SELECT id, name, email, company, status FROM contacts
WHERE (:status IS NULL OR status = :status)
  AND (:query IS NULL OR instr(lower(name || ' ' || email || ' ' || company), lower(:query)))
ORDER BY name, id LIMIT :limit + 1
"""
_LIST_DEALS = """
SELECT deals.id, title, stage, value_eur, closes_on, contact_id, name AS contact_name
FROM deals JOIN contacts ON contacts.id = contact_id
WHERE (:stage IS NULL OR stage = :stage) AND (:contact_id IS NULL OR contact_id = lower(:contact_id))
ORDER BY closes_on IS NULL, closes_on, deals.id LIMIT :limit + 1
"""
_CREATE_CONTACT = """
INSERT INTO contacts (id, name, email, company, phone, status, notes, updated_at)
VALUES (:contact_id, :name, :email, :company, :phone, :status, :notes, :at)
"""
_UPDATE_CONTACT = """
UPDATE contacts SET name = COALESCE(:name, name), email = COALESCE(:email, email),
  company = COALESCE(:company, company), phone = COALESCE(:phone, phone), status = COALESCE(:status, status),
  notes = COALESCE(:notes, notes), updated_at = :at
WHERE id = :contact_id
"""
_UPDATE_DEAL = """
UPDATE deals SET stage = COALESCE(:stage, stage), value_eur = COALESCE(:value_eur, value_eur),
  closes_on = COALESCE(:closes_on, closes_on), updated_at = :at
WHERE id = :deal_id
"""
_CONTACT_COLUMNS = ("name", "email", "company", "phone", "status", "notes")
_DEAL_COLUMNS = ("stage", "value_eur", "closes_on")


def list_contacts(request: OpRequest) -> OpOutcome:
    """Return contacts, optionally filtered by words or status, in order of name."""
    return _list_rows(request, _LIST_CONTACTS, ("query", "status"), name="contacts")


def list_deals(request: OpRequest) -> OpOutcome:
    """Return deals, optionally filtered by contact or stage. Those that close first come first."""
    return _list_rows(request, _LIST_DEALS, ("contact_id", "stage"), name="deals")


def get_contact(request: OpRequest) -> OpOutcome:
    """Return all of one contact, with its deals."""
    with example_database.open_for_reading() as database:
        contact = _get_contact(database, request.args["contact_id"])
        query = "SELECT id, title, stage, value_eur, closes_on FROM deals WHERE contact_id = ? ORDER BY closes_on, id"
        deals = [dict(row) for row in database.execute(query, [contact["id"]])]
    result = {"contact": contact, "deals": deals, "message": f"{contact['name']}, {_format_count(deals, 'deals')}."}
    return OpOutcome(result, entity_id=contact["id"], entity_name=contact["name"])


def create_contact(database: sqlite3.Connection, request: OpRequest) -> OpOutcome:
    """Add a contact. Raises StateConflict if another one has the email address, or if there are too many."""
    if database.execute("SELECT COUNT(*) FROM contacts").fetchone()[0] >= MAX_CONTACTS:
        raise StateConflict(
            f"The example CRM has {MAX_CONTACTS:,} contacts, which is the limit. Update one instead.", reason="crm_full"
        )
    id = str(uuid4())
    values = {name: request.args.get(name) for name in _CONTACT_COLUMNS}
    _execute_change(database, _CREATE_CONTACT, {**values, "contact_id": id, "at": _format_time(request)})
    contact = _get_contact(database, id)
    result = {"contact": contact, "message": f"Created the contact {contact['name']}."}
    return OpOutcome(result, entity_id=id, entity_name=contact["name"])


def update_contact(database: sqlite3.Connection, request: OpRequest) -> OpOutcome:
    """Change the sent fields of a contact. Raises StateConflict if another one has the email address."""
    before = _get_contact(database, request.args["contact_id"])
    values = {name: request.args.get(name) for name in _CONTACT_COLUMNS}
    if _has_values(before, values):
        return _respond_unchanged("contact", before, before["name"])
    _execute_change(database, _UPDATE_CONTACT, {**values, "contact_id": before["id"], "at": _format_time(request)})
    contact = _get_contact(database, before["id"])
    result = {"contact": contact, "message": f"Changed the contact {contact['name']}."}
    return OpOutcome(result, entity_id=contact["id"], entity_name=contact["name"])


def update_deal(database: sqlite3.Connection, request: OpRequest) -> OpOutcome:
    """Change the sent fields of a deal."""
    before = _get_deal(database, request.args["deal_id"])
    values = {name: request.args.get(name) for name in _DEAL_COLUMNS}
    if _has_values(before, values):
        return _respond_unchanged("deal", before, before["title"])
    database.execute(_UPDATE_DEAL, {**values, "deal_id": before["id"], "at": _format_time(request)})
    deal = _get_deal(database, before["id"])
    result = {"deal": deal, "message": f"Changed the deal {deal['title']}."}
    return OpOutcome(result, entity_id=deal["id"], entity_name=deal["title"])


def build_write_handler(change: Change) -> OpHandler[OpRequest]:
    """Return the handler of a write. It prepares by making the change and rolling it back."""

    def prepare(request: OpRequest) -> None:
        with example_database.open_for_writing(keep=False) as database:
            change(database, request)

    def apply(request: OpRequest) -> OpOutcome:
        with example_database.open_for_writing(keep=True) as database:
            return change(database, request)

    return OpHandler(apply=apply, prepare=prepare)


def _list_rows(request: OpRequest, query: str, filters: tuple[str, ...], *, name: str) -> OpOutcome:
    limit = request.args["limit"]
    values = {"limit": limit} | {each: request.args.get(each) for each in filters}
    with example_database.open_for_reading() as database:
        rows = [dict(row) for row in database.execute(query, values)]
    has_more, shown = len(rows) > limit, rows[:limit]
    message = f"{_format_count(shown, name)}{', and there are more' if has_more else ''}."
    if not shown:
        message = f"No {name} match. Leave out the filters to list all."
    return OpOutcome({name: shown, "has_more": has_more, "message": message})


def _get_contact(database: sqlite3.Connection, id: str) -> dict[str, Any]:
    row = database.execute("SELECT * FROM contacts WHERE id = ?", [id.lower()]).fetchone()
    if row is None:
        raise NotFound("No contact has this contact_id; find its id with crm.contact.list.")
    return dict(row)


def _get_deal(database: sqlite3.Connection, id: str) -> dict[str, Any]:
    row = database.execute("SELECT * FROM deals WHERE id = ?", [id.lower()]).fetchone()
    if row is None:
        raise NotFound("No deal has this deal_id; find its id with crm.deal.list.")
    return dict(row)


def _execute_change(database: sqlite3.Connection, statement: str, values: dict[str, Any]) -> None:
    try:
        database.execute(statement, values)
    except sqlite3.IntegrityError:
        raise StateConflict(
            "Another contact has this email; nothing was changed. Find it with crm.contact.list and query.",
            reason="email_taken",
        ) from None


def _has_values(row: dict[str, Any], values: dict[str, Any]) -> bool:
    return all(row[name] == value for name, value in values.items() if value is not None)


def _respond_unchanged(kind: str, row: dict[str, Any], name: str) -> OpOutcome:
    result = {kind: row, "message": f"The {kind} has these values already; nothing was changed."}
    return OpOutcome(result, ("unchanged",), entity_id=row["id"], entity_name=name, changed_ids=())


def _format_count(rows: list[dict[str, Any]], plural: str) -> str:
    return f"{len(rows)} {plural[:-1] if len(rows) == 1 else plural}"


def _format_time(request: OpRequest) -> str:
    return request.at.strftime("%Y-%m-%dT%H:%M:%SZ")
