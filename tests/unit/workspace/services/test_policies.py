from tests.support.loops import for_each
from workspace.models import MemberRole
from workspace.services import access


@for_each(
    "role, view, change, reason",
    [
        (MemberRole.OWNER, True, True, "owner_may_change"),
        (MemberRole.EDITOR, True, True, "editor_may_change"),
        (MemberRole.VIEWER, True, False, "viewer_may_not_change"),  # sees everything, changes nothing
        (None, False, False, "not_a_member"),  # a stranger sees nothing
        ("boss", False, False, "not_a_member"),  # an unknown role counts as no role
    ],
)
def test_policy_depends_on_the_role(role: str | None, view: bool, change: bool, reason: str) -> None:
    assert access.check_view(role=role).allowed is view
    assert access.check_change(role=role) == access.RoleDecision(change, reason)


@for_each(
    "role, reason",
    [
        (MemberRole.EDITOR, "only_owner_may_delete"),  # an editor may change everything, but not delete the project
        (MemberRole.VIEWER, "only_owner_may_delete"),
        (None, "not_a_member"),
        ("boss", "not_a_member"),
    ],
)
def test_only_an_owner_can_delete_a_project(role: str | None, reason: str) -> None:
    assert access.check_delete_project(role=MemberRole.OWNER) == access.RoleDecision(True, "owner_may_delete")
    assert access.check_delete_project(role=role) == access.RoleDecision(False, reason)


def test_view_gives_its_reason() -> None:
    assert access.check_view(role=MemberRole.VIEWER).reason == "member"
    assert access.check_view(role=None).reason == "not_a_member"
