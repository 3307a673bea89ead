"""Who may use the admin: Django's users and roles (its groups), in the admin's look."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from core import desk
from gateway.roles import Role

admin.site.unregister([User, Group])  # importing Django's pages has registered them


@admin.register(User)
class AccountAdmin(UserAdmin[User], desk.ModelAdmin[User]):
    empty = "Add whoever works here, and give them a role."
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    filter_horizontal = ["user_permissions"]

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer roles, which are few, to be ticked."""
        if db_field.name == "groups":
            kwargs |= {"widget": UnfoldAdminCheckboxSelectMultipleWidget(), "label": "Roles"}
        return super().formfield_for_manytomany(db_field, request, **kwargs)


@admin.register(Group)
class RoleAdmin(GroupAdmin, desk.ModelAdmin[Group]):
    """Groups. Those that this software brings are looked at: the next `migrate` would undo what was done to them."""

    empty = "Run manage.py migrate, which makes the roles."

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Whether somebody may change a group; ours nobody does."""
        return super().has_change_permission(request, obj) and not _is_ours(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Whether somebody may delete a group; ours nobody does."""
        return super().has_delete_permission(request, obj) and not _is_ours(obj)


def _is_ours(group: Group | None) -> bool:
    return group is not None and group.name in list(Role)
