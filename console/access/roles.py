"""Roles: built-in Django groups that define what people may do in the admin.

Every `migrate` resets each role to the permissions listed here. To grant more, use other groups or user permissions:
those are never changed, and permissions add up.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from django.apps import apps as installed


class Role(StrEnum):
    """A built-in group."""

    ADMIN = "Admin"
    EDITOR = "Editor"
    PRODUCT_MANAGER = "Product manager"
    AUDITOR = "Auditor"


VIEW: tuple[str, ...] = ("view",)
ALL: tuple[str, ...] = ("view", "add", "change", "delete")

# Every model of this project belongs to exactly one area.
AREAS = {
    "copy": (
        *("registry.group", "registry.op", "registry.policyrule", "registry.example", "registry.opalias"),
        *("registry.promptsection", "registry.agent", "registry.pin", "registry.evalcase"),
    ),
    "model_runs": ("gateway.modelrun",),
    "releases": ("registry.release", "registry.activation"),
    "reviews": ("registry.reviewrequest", "registry.reviewcomment", "registry.scheduledpublish"),
    "switches": (
        *("registry.switch", "registry.connection", "registry.documentimport", "registry.upstreamdefinition"),
    ),
    "history": ("analytics.auditentry",),
    "rollout": ("analytics.flag", "analytics.cohort", "analytics.cohortrule"),
    "activity": (
        *("analytics.operationevent", "analytics.opdaily", "analytics.rollup", "analytics.assignment"),
        *("analytics.subject", "analytics.turn", "analytics.toolselection", "analytics.savedview"),
    ),
    "calls": (
        *("gateway.idempotencyrecord", "gateway.usedconfirmation", "gateway.batch", "gateway.batchentry"),
        *("gateway.storedfile", "gateway.periodicjob", "registry.opembedding"),
    ),
    "workspace": (
        *("workspace.project", "workspace.membership", "workspace.task", "workspace.document", "workspace.goal"),
        *("workspace.plan", "workspace.milestone", "workspace.risk", "workspace.requirement", "workspace.edge"),
        *("workspace.calendarevent", "workspace.projectcalendar", "workspace.profile"),
    ),
    "chat": ("chat.profile", "chat.conversation", "chat.message", "chat.toolcall", "chat.eventchunk"),
    "notifications": ("analytics.notification",),
    "clients": ("gateway.client", "gateway.apikey", "gateway.signedinapplication", "oauth2_provider.application"),
    "credentials": ("gateway.connectionsecret", "gateway.usergrant", "gateway.signin"),
    "people": ("auth.user", "auth.group", "axes.accessattempt"),
}

_VIEW_ONLY = dict.fromkeys(
    ("copy", "model_runs", "releases", "reviews", "switches", "history", "rollout", "activity"), VIEW
)

# What each role may do with the rows of each area. Publishing, making live and withdrawing require permission to add
# releases; switching requires permission to change switches.
GRANTS: dict[Role, dict[str, tuple[str, ...]]] = {
    Role.ADMIN: dict.fromkeys(AREAS, ALL),
    Role.EDITOR: {**_VIEW_ONLY, "copy": ALL, "model_runs": ("view", "add"), "reviews": ("view", "add")},
    Role.PRODUCT_MANAGER: {**_VIEW_ONLY, "rollout": ALL},
    Role.AUDITOR: dict.fromkeys(AREAS, VIEW),
}

TRY_AS_ANY_SUBJECT = (
    "gateway.try_as_any_subject"  # shows rows of users, which the workspace's pages show to admins only
)
RUN_FOR_REAL = "registry.run_op"  # changes rows at an upstream
_SPECIAL_PERMISSIONS = {Role.ADMIN: (TRY_AS_ANY_SUBJECT, RUN_FOR_REAL)}


def list_permissions(role: Role) -> Iterator[str]:
    """Yield the permissions of a role in the form of `has_perm`, such as registry.change_op."""
    for area, verbs in GRANTS[role].items():
        for model in AREAS[area]:
            app, name = model.split(".")
            for verb in verbs:
                yield f"{app}.{verb}_{name}"
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
