"""Who may use the admin: Django's users and roles (its groups), in the admin's look."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from core import desk

admin.site.unregister([User, Group])  # importing Django's pages has registered them


@admin.register(User)
class AccountAdmin(UserAdmin[User], desk.ModelAdmin[User]):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class RoleAdmin(GroupAdmin, desk.ModelAdmin[Group]):
    pass
