"""Who may do what: pure functions of a role. A decision's reason is shown to the caller and stored with the event."""

from dataclasses import dataclass

from workspace.models import CHANGING_ROLES, Role


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and the name of the case."""

    allowed: bool
    reason: str


def may_view(*, role: str | None) -> Decision:
    """Members see a project and all that is in it; for everybody else it does not exist."""
    return Decision(True, "member") if role in Role.values else Decision(False, "not_a_member")


def may_change(*, role: str | None) -> Decision:
    """Owners and editors change a project and what is in it; viewers only read."""
    if role in CHANGING_ROLES:
        return Decision(True, f"{role}_may_change")
    return Decision(False, "viewer_may_not_change") if may_view(role=role).allowed else may_view(role=role)


def may_delete_project(*, role: str | None) -> Decision:
    """Only an owner takes a project away from all its members."""
    if role == Role.OWNER:
        return Decision(True, "owner_may_delete")
    return Decision(False, "only_owner_may_delete") if may_view(role=role).allowed else may_view(role=role)
