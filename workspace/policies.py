"""Access policies: pure functions of a role. The caller sees the reason, and the event stores it."""

from dataclasses import dataclass

from workspace.models import CHANGING_ROLES, Role


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether an action is allowed, and the name of the case."""

    allowed: bool
    reason: str


def may_view(*, role: str | None) -> Decision:
    """Allow every member to see the project and everything in it. For everyone else it does not exist."""
    return Decision(True, "member") if role in Role.values else Decision(False, "not_a_member")


def may_change(*, role: str | None) -> Decision:
    """Allow owners and editors to change the project and everything in it. Viewers only read."""
    if role in CHANGING_ROLES:
        return Decision(True, f"{role}_may_change")
    return Decision(False, "viewer_may_not_change") if may_view(role=role).allowed else may_view(role=role)


def may_delete_project(*, role: str | None) -> Decision:
    """Allow only owners to delete the project, because that removes it for all members."""
    if role == Role.OWNER:
        return Decision(True, "owner_may_delete")
    return Decision(False, "only_owner_may_delete") if may_view(role=role).allowed else may_view(role=role)
