"""Admin pages for Django's users and groups; groups are called roles here."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from core.admin import base
from gateway.roles import Role

# Django's own texts speak of what a status "designates".
LABELS = {"is_staff": "May sign in here", "is_superuser": "May do everything"}
HELP_TEXTS = {
    "username": "At most 150 letters, digits and @ . + - _",
    "email": "Optional. The gateway sends no mail.",
    "is_active": "Clear this when somebody leaves: they can no longer sign in, and the history keeps their name.",
    "is_staff": "What they see here depends on their roles.",
    "is_superuser": "Whatever the roles say. Meant for the people who set the gateway up.",
    "user_permissions": "Permissions in addition to those of the roles. Roles alone are easier to review.",
}

admin.site.unregister([User, Group])  # Django registers them when its admin is imported
# Not "group" as in Django, because ops have groups.
Group._meta.verbose_name, Group._meta.verbose_name_plural = "role", "roles"


@admin.register(User)
class AccountAdmin(UserAdmin[User], base.ModelAdmin[User]):
    empty = "Add the people who work here and give each a role."
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    filter_horizontal = ["user_permissions"]

    def get_form(self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form, with labels and help texts in our words."""
        return super().get_form(request, obj, change=change, labels=LABELS, help_texts=HELP_TEXTS, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Show roles as checkboxes: there are only a few."""
        if db_field.name == "groups":
            kwargs |= {"widget": UnfoldAdminCheckboxSelectMultipleWidget(), "label": "Roles"}
            kwargs["help_text"] = "A user may do what any of the chosen roles allows."
        return super().formfield_for_manytomany(db_field, request, **kwargs)


@admin.register(Group)
class RoleAdmin(GroupAdmin, base.ModelAdmin[Group]):
    """Groups. The built-in roles are read-only, because every `migrate` resets their permissions."""

    empty = "Run manage.py migrate to create the roles."

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return super().has_change_permission(request, obj) and not _is_builtin_role(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not _is_builtin_role(obj)


def _is_builtin_role(group: Group | None) -> bool:
    return group is not None and group.name in list(Role)
