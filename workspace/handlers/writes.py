"""update and delete of any kind."""

from workspace.contract import Outcome, Request
from workspace.errors import invalid
from workspace.handlers.reads import outcome
from workspace.kinds import Kind
from workspace.services import access, changes, rows

UNCHANGED = "unchanged"  # the warning of an update whose every value equals the stored one


def update_row(request: Request, *, kind: Kind) -> Outcome:
    """Set the fields that were sent and no others. Raises NotFound, Forbidden, Invalid."""
    row = access.changeable_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    before = rows.whole(row, kind=kind)
    if errors := changes.assign(row, kind=kind, sent=request.args, at=request.at):
        raise invalid(errors)
    changed = changes.changed(before, rows.whole(row, kind=kind))
    if not changed:
        message = f"Nothing changed: the {kind.name} has these values already."
        return outcome(row, kind=kind, message=message, warnings=(UNCHANGED,))
    row.updated_at = request.at
    row.save(update_fields=[*changed, "updated_at"])
    return outcome(row, kind=kind, message=f"Changed {', '.join(changed)}.")


def delete_row(request: Request, *, kind: Kind) -> Outcome:
    """Mark the row deleted: it is gone from every op, and kept in the database. Raises NotFound, Forbidden."""
    row = access.changeable_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    row.deleted_at = request.at
    row.save(update_fields=["deleted_at"])
    id, name = str(row.pk), getattr(row, kind.label)
    result = {kind.name: {"id": id}, "message": f"Deleted the {kind.name}; no op finds it any more."}
    return Outcome(result=result, entity_id=id, entity_name=name)
