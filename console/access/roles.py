"""What each role may do, and what a refused user reads.

Every `migrate` resets each role to the permissions listed here. To grant more, use other groups or user permissions:
those are never changed, and permissions add up.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from django.apps import apps
from django.apps import apps as installed
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django.utils.text import capfirst, get_text_list

from core import manifest
from core.manifest import PageLink

VIEW: tuple[str, ...] = ("view",)
ALL: tuple[str, ...] = ("view", "add", "change", "delete")

_VIEW_ONLY: dict[str | None, tuple[str, ...]] = dict.fromkeys(
    ("copy", "model_runs", "releases", "reviews", "switches", "history", "rollout", "alerts", "activity"), VIEW
)
TRY_AS_ANY_SUBJECT = (
    "gateway.try_as_any_subject"  # shows rows of users, which the workspace's pages show to admins only
)
RUN_FOR_REAL = "registry.run_op"  # changes rows at an upstream


class Role(StrEnum):
    """A built-in group."""

    ADMIN = "Admin"
    EDITOR = "Editor"
    PRODUCT_MANAGER = "Product manager"
    AUDITOR = "Auditor"


# For people who choose a role.
ROLE_SENTENCES = {
    Role.ADMIN: "can do everything, and publishes",
    Role.EDITOR: "edits copy and asks for reviews",
    Role.PRODUCT_MANAGER: "changes cohorts and alerts, and reads reports",
    Role.AUDITOR: "sees everything and changes nothing",
}

# What each role may do with the rows of each area, which the manifests declare. None stands for all areas. Publishing,
# making live and withdrawing require permission to add releases; switching requires permission to change switches.
GRANTS: dict[Role, dict[str | None, tuple[str, ...]]] = {
    Role.ADMIN: {None: ALL},
    Role.EDITOR: {**_VIEW_ONLY, "copy": ALL, "model_runs": ("view", "add"), "reviews": ("view", "add")},
    Role.PRODUCT_MANAGER: {**_VIEW_ONLY, "rollout": ALL, "alerts": ALL},
    Role.AUDITOR: {None: VIEW},
}

_SPECIAL_PERMISSIONS = {Role.ADMIN: (TRY_AS_ANY_SUBJECT, RUN_FOR_REAL)}


def get_verbs(role: Role, area: str) -> tuple[str, ...]:
    """Return what a role may do with the rows of an area."""
    return GRANTS[role].get(area, GRANTS[role].get(None, ()))


def list_permissions(role: Role) -> Iterator[str]:
    """Yield the permissions of a role in the form of `has_perm`, such as registry.change_op."""
    for area, models in manifest.get().areas.items():
        verbs = get_verbs(role, area)
        for model in models:
            app, name = model.split(".")
            yield from (f"{app}.{verb}_{name}" for verb in verbs)
    yield from _SPECIAL_PERMISSIONS.get(role, ())


def sync_groups(*, using: str, apps: Any = installed, **_: Any) -> None:
    """Set the permissions of each role's group to exactly those listed here. Receiver of `post_migrate`."""
    try:
        group_model, permission_model = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    except LookupError:
        return  # a partial migrate: the auth app is not migrated yet
    permission_rows = permission_model.objects.using(using).values_list("pk", "content_type__app_label", "codename")
    ids = {f"{app}.{codename}": pk for pk, app, codename in permission_rows}
    for role in Role:
        group, _created = group_model.objects.using(using).get_or_create(name=role.value)
        group.permissions.set([ids[name] for name in list_permissions(role) if name in ids])


def describe_refusal(request: HttpRequest) -> str:
    """Return what the user's roles are, what they do not allow, and which roles do."""
    url_name = _resolve_url_name(request)
    model = _find_model(url_name)
    title = _get_page_title(url_name, model)
    roles = sorted(group.name for group in request.user.groups.all())
    subject = f"Your {'role' if len(roles) == 1 else 'roles'} {get_text_list(roles, 'and')}" if roles else "You"
    if not roles:
        return f"You have no role yet, so you cannot open {title}. Ask an Admin for one."
    if model is not None and admin.site.get_model_admin(model).has_view_permission(request):
        return f"{subject} can view {title} but not make changes. Ask an Admin."
    return f"{subject} cannot open {title}. {_describe_allowed_roles(model)}"


def _describe_allowed_roles(model: type[Model] | None) -> str:
    if model is None:
        return "Ask an Admin."
    permission = f"{model._meta.app_label}.view_{model._meta.model_name}"
    names = [role.value for role in Role if permission in set(list_permissions(role))]
    return f"Roles that can: {get_text_list(names, 'and')}. Ask an Admin for one." if names else "Ask an Admin."


def _get_page_title(url_name: str, model: type[Model] | None) -> str:
    if model is not None:
        return str(capfirst(model._meta.verbose_name_plural))
    pages = (page for tab in manifest.get().tabs for page in tab.pages if isinstance(page, PageLink))
    return next((page.title for page in pages if page.name == url_name), "this page")


def _resolve_url_name(request: HttpRequest) -> str:
    try:
        return resolve(request.path_info).url_name or ""
    except Resolver404:
        return ""


def _find_model(url_name: str) -> type[Model] | None:
    """Return the model whose page has this URL name, such as registry_op_change."""
    app, _, rest = url_name.partition("_")
    name = rest.partition("_")[0]
    if not apps.is_installed(app) and app not in apps.app_configs:
        return None
    model = apps.all_models[app].get(name)
    return model if model is not None and model in admin.site._registry else None
