"""Access policies: pure functions of a role. The caller sees the reason, and the event stores it."""

from dataclasses import dataclass

from workspace.models import EDITING_ROLES, MemberRole


@dataclass(frozen=True, slots=True)
class RoleDecision:
    """Whether an action is allowed, and the name of the case."""

    allowed: bool
    reason: str


def check_view(*, role: str | None) -> RoleDecision:
    """Allow every member to see the project and everything in it. For everyone else it does not exist."""
    return RoleDecision(True, "member") if role in MemberRole.values else RoleDecision(False, "not_a_member")


def check_change(*, role: str | None) -> RoleDecision:
    """Allow owners and editors to change the project and everything in it. Viewers only read."""
    if role in EDITING_ROLES:
        return RoleDecision(True, f"{role}_may_change")
    return RoleDecision(False, "viewer_may_not_change") if check_view(role=role).allowed else check_view(role=role)


def check_delete_project(*, role: str | None) -> RoleDecision:
    """Allow only owners to delete the project, because that removes it for all members."""
    if role == MemberRole.OWNER:
        return RoleDecision(True, "owner_may_delete")
    return RoleDecision(False, "only_owner_may_delete") if check_view(role=role).allowed else check_view(role=role)
