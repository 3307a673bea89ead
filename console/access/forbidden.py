"""What a person reads whose role does not allow a page or an action: the role, the page, and who may."""

from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django.utils.text import capfirst, get_text_list

from console.access.roles import Role, list_permissions
from console.reports.report_list import REPORTS

PAGE_TITLES = {report.url_name: report.title for report in REPORTS}


def describe_refusal(request: HttpRequest) -> str:
    """Return what the user's roles are, what they do not allow, and which roles do."""
    url_name = _resolve_url_name(request)
    model = _find_model(url_name)
    title = _get_page_title(url_name, model)
    roles = sorted(group.name for group in request.user.groups.all())
    subject = f"Your {'role' if len(roles) == 1 else 'roles'} {get_text_list(roles, 'and')}" if roles else "You"
    if not roles:
        return f"You have no role yet, so you may not open {title}. Ask an Admin for one."
    if model is not None and admin.site.get_model_admin(model).has_view_permission(request):
        return f"{subject} may view {title}, but not change this. Ask an Admin."
    return f"{subject} may not open {title}. {_describe_allowed_roles(model)}"


def _describe_allowed_roles(model: type[Model] | None) -> str:
    if model is None:
        return "Ask an Admin."
    permission = f"{model._meta.app_label}.view_{model._meta.model_name}"
    names = [role.value for role in Role if permission in set(list_permissions(role))]
    return f"Roles that may: {get_text_list(names, 'and')}. Ask an Admin for one." if names else "Ask an Admin."


def _get_page_title(url_name: str, model: type[Model] | None) -> str:
    if model is not None:
        return str(capfirst(model._meta.verbose_name_plural))
    return PAGE_TITLES.get(url_name, "this page")


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
