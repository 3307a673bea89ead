"""Users and roles of the console, and how a user signs in."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import allauth.account.admin
import allauth.mfa.admin
import allauth.usersessions.admin  # noqa: F401 - they register their own pages, before these are taken away below
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django import forms
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.hashers import is_password_usable
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from audit import audit_log
from audit.models import AuditEntry
from console.access.roles import ROLE_SENTENCES, Role
from console.log_pages import AuditedAdmin
from core.admin import base
from core.sign_in import second_factor
from core.text.display import DASH

HAS_SINGLE_SIGN_ON = apps.is_installed("allauth.socialaccount")
KINDS = {
    Authenticator.Type.TOTP: "authenticator app",
    Authenticator.Type.WEBAUTHN: "passkey",
    Authenticator.Type.RECOVERY_CODES: "recovery codes",
}
AUDITED_USER_FIELDS = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")

# Django's own texts speak of what a status "designates".
LABELS = {"username": "User name", "is_staff": "Can sign in to the console", "is_superuser": "Can do everything"}
HELP_TEXTS = {
    "username": "At most 150 letters, digits and @ . + - _",
    "email": "Single sign-on finds people by this address, and messages about reviews go there. It must be unique.",
    "is_active": "Clear this when somebody leaves: they can no longer sign in, and the history keeps their name.",
    "is_staff": "What they see depends on their roles.",
    "is_superuser": "Regardless of roles. Meant for the people who set up the gateway.",
    "user_permissions": "Permissions in addition to those of the roles. Roles alone are easier to review.",
}

# Not "group" as in Django, because ops have groups.
Group._meta.verbose_name, Group._meta.verbose_name_plural = "role", "roles"


admin.site.unregister([Authenticator, EmailAddress, UserSession])  # shown with their users

if HAS_SINGLE_SIGN_ON:
    import_module("allauth.socialaccount.admin")
    admin.site.unregister(list(apps.get_app_config("socialaccount").get_models()))


class SignInMixin(base.ModelAdmin[User]):
    """Adds second factors and sessions to the pages of users."""

    actions = ["end_sessions", "remove_second_factors", *(["unlink_identities"] if HAS_SINGLE_SIGN_ON else [])]

    @admin.action(description="Sign out everywhere", permissions=["change"])
    def end_sessions(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            count = second_factor.end_sessions(user, by=request.user.get_username())
            _record(request, user, f"Signed out everywhere: {count} session{pluralize(count)}")
            self.message_user(request, f"{user} is signed out of {count} session{pluralize(count)}.")

    @admin.action(description="Remove second factors: only the password is needed to sign in", permissions=["change"])
    def remove_second_factors(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            count = second_factor.remove_second_factors(user, by=request.user.get_username())
            if count:
                _record(request, user, "Removed the second factors")
            self.message_user(request, f"{user} no longer has a second factor." if count else f"{user} had none.")

    @admin.action(
        description="Unlink from single sign-on: the next sign-in links the account again", permissions=["change"]
    )
    def unlink_identities(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            count = second_factor.unlink_identities(user, by=request.user.get_username())
            if count:
                _record(request, user, "Unlinked from single sign-on")
            self.message_user(request, f"{user} is no longer linked." if count else f"{user} was not linked.")

    @admin.display(description="Second factors")
    def second_factors(self, user: User) -> str:
        found = Authenticator.objects.filter(user=user).order_by("created_at")
        return ", ".join(KINDS[Authenticator.Type(each.type)] for each in found) or "none"

    @admin.display(description="Sessions")
    def sessions(self, user: User) -> int:
        open_sessions = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
        count: int = UserSession.objects.filter(user=user, session_key__in=open_sessions).count()
        return count


def _record(request: HttpRequest, user: User, note: str) -> None:
    kind, action = "user", AuditEntry.Action.CHANGED
    audit_log.record_action(kind, user.username, action, by=str(request.user), at=timezone.now(), note=note)


admin.site.unregister([User, Group])  # Django registers them when its admin is imported


class PasswordLink(forms.Widget):
    """A link to the page that sets a new password. The hash and its parameters are of no use to anybody."""

    read_only = True  # Django shows it, and not the hash, also where nothing can be changed

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        label = "Change the password" if value and is_password_usable(value) else "Set a password"
        return format_html('<a class="ui-button" href="../password/">{}</a>', label)


class EditUserForm(UserChangeForm):  # type: ignore[misc]  # unfold has no types for it
    """Links to the page for a new password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "password" in self.fields:  # not so for people who may only look
            self.fields["password"].widget, self.fields["password"].help_text = PasswordLink(), ""


class AddUserForm(UserCreationForm):  # type: ignore[misc]  # unfold has no types for it
    """Asks for a name, and for a password unless single sign-on replaces it: Django's labels are hard to understand."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["usable_password"]
        field.label = "Signs in with"
        field.choices = [("true", "A password"), ("false", "Single sign-on only")]
        field.help_text = "Without a password, they can only use single sign-on."


@admin.register(User)
class AccountAdmin(SignInMixin, UserAdmin[User], AuditedAdmin):
    audit_kind = "user"
    go_to_order = 7
    empty = "Add the people who work here and give each a role."
    form = EditUserForm
    add_form = AddUserForm
    add_form_template = None  # Django has one that says that more can be set later
    change_password_form = AdminPasswordChangeForm
    filter_horizontal = ["user_permissions"]
    fieldsets = (
        *(UserAdmin.fieldsets or ()),
        ("Sign-in", {"fields": ("second_factors", "sessions")}),
    )
    readonly_fields = ("second_factors", "sessions")

    list_display = ["user_name", "roles", "last_sign_in", "may_sign_in", "email"]
    list_filter = ["groups", "is_staff", "is_superuser", "is_active"]
    add_fieldsets = [
        *UserAdmin.add_fieldsets,
        (None, {"fields": ["email"]}),
        ("Roles", {"fields": ["groups"], "description": "Users with a role can sign in to the console."}),
    ]

    def get_go_to_texts(self, row: User) -> tuple[str, str]:
        return " · ".join(filter(None, [row.username, row.get_full_name()])), "user"

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description="User name", ordering="username")
    def user_name(self, user: User) -> str:
        return user.username

    @admin.display(description="Roles")
    def roles(self, user: User) -> str:
        names = ["Everything"] if user.is_superuser else sorted(group.name for group in user.groups.all())
        return ", ".join(names) or DASH

    @admin.display(description="Last sign-in", ordering="last_login")
    def last_sign_in(self, user: User) -> Any:
        return user.last_login or "never"

    @admin.display(description="Can sign in", boolean=True, ordering="is_staff")
    def may_sign_in(self, user: User) -> bool:
        return user.is_active and user.is_staff

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Let a new user with a role sign in: without that, the role has no effect."""
        if not change and form.cleaned_data.get("groups"):
            obj.is_staff = True
        super().save_model(request, obj, form, change)

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Leave out the password for users who cannot change it."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        return [
            (title, {**options, "fields": [name for name in options["fields"] if name != "password"]})
            for title, options in fieldsets
        ]

    def get_form(self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form, with labels and help texts in our words."""
        return super().get_form(request, obj, change=change, labels=LABELS, help_texts=HELP_TEXTS, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Show roles as checkboxes: there are only a few."""
        if db_field.name == "groups":
            kwargs |= {"widget": UnfoldAdminCheckboxSelectMultipleWidget(), "label": "Roles"}
            kwargs["help_text"] = "A user can do everything that any of the chosen roles allows."
        field: Any = super().formfield_for_manytomany(db_field, request, **kwargs)
        if db_field.name == "groups":
            field.label_from_instance = _describe_role
        return field

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        with _record_new_password(request, user_id=unquote(id)):
            return super().user_change_password(request, id, form_url)

    def get_audit_values(self, row: User) -> dict[str, Any]:
        """Return the audited fields of a user. The password is not among them."""
        fields: dict[str, Any] = {name: getattr(row, name) for name in AUDITED_USER_FIELDS}
        roles = sorted(row.groups.values_list("name", flat=True))
        return fields | {"roles": roles, "permissions": _list_permissions(row.user_permissions)}


def change_own_password(request: HttpRequest) -> HttpResponse:
    """Show Django's page with which users change their own password, and record that they did."""
    with _record_new_password(request, user_id=str(request.user.pk)):
        response: HttpResponse = admin.site.password_change(request)
    return response


@contextmanager
def _record_new_password(request: HttpRequest, *, user_id: str) -> Iterator[None]:
    """Record in the audit log if the block changes a user's password."""
    users = User.objects.filter(pk=user_id) if user_id.isdecimal() else User.objects.none()
    before = users.first()
    yield
    after = users.first()
    if before and after and before.password != after.password:
        note, kind, action = "Set a new password", "user", AuditEntry.Action.CHANGED
        audit_log.record_action(kind, after.username, action, by=str(request.user), at=timezone.now(), note=note)


def _list_permissions(permissions: Any) -> list[str]:
    return sorted(f"{app}.{name}" for app, name in permissions.values_list("content_type__app_label", "codename"))


@admin.register(Group)
class RoleAdmin(GroupAdmin, AuditedAdmin):
    """Groups. The built-in roles are read-only, because every `migrate` resets their permissions."""

    audit_kind = "role"

    empty = "Run manage.py migrate to create the roles."

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return super().has_change_permission(request, obj) and not _is_builtin_role(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not _is_builtin_role(obj)

    def get_audit_values(self, row: Group) -> dict[str, Any]:
        return {"name": row.name, "permissions": _list_permissions(row.permissions)}


def _describe_role(group: Group) -> str:
    return f"{group.name}: {ROLE_SENTENCES[Role(group.name)]}" if _is_builtin_role(group) else group.name


def _is_builtin_role(group: Group | None) -> bool:
    return group is not None and group.name in list(Role)
