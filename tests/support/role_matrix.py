"""Every page of the admin, with rows behind it, and a person of each role."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import Group, User
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from gateway.roles import Role
from tests.support.admin_models import MODELS, page

# Letters for roles: A dmin, E ditor, P roduct manager, aU ditor; S is staff without a role, N somebody who is no staff.
PEOPLE = {"A": Role.ADMIN, "E": Role.EDITOR, "P": Role.PRODUCT_MANAGER, "U": Role.AUDITOR, "S": None, "N": None}


STAFF = "AEPUS"


# Who may look, add, change, delete.
COPY = ("AEPU", "AE", "AE", "AE")


READ = ("AEPU", "", "", "")  # services own these rows


CALLS = ("AU", "", "", "")


OWNED = ("AU", "A", "A", "")  # deleting is an action and soft


FULL = ("AU", "A", "A", "A")


MODELS_OF = {
    COPY: [
        "registry.Group",
        "registry.Op",
        "registry.PromptSection",
        "registry.PolicyRule",
        "registry.Example",
        "registry.OpAlias",
    ],
    READ: [
        "registry.Release",
        "registry.Activation",
        "analytics.AuditEntry",
        "analytics.OperationEvent",
        "analytics.OpDaily",
        "analytics.Rollup",
        "analytics.Assignment",
        "analytics.Turn",
        "analytics.ToolSelection",
        "analytics.Subject",
    ],
    ("AEPU", "AP", "AP", "AP"): ["analytics.Cohort"],
    ("AEPU", "", "AP", ""): ["analytics.Flag"],  # declared in the code
    ("AEPU", "A", "A", ""): ["registry.Switch"],
    ("AEPU", "A", "A", "A"): ["registry.Connection"],
    CALLS: [
        "gateway.IdempotencyRecord",
        "gateway.Batch",
        "gateway.BatchEntry",
        "gateway.PeriodicJob",
        "workspace.Edge",
    ],
    OWNED: [
        "workspace.Project",
        "workspace.Task",
        "workspace.Document",
        "workspace.Goal",
        "workspace.Plan",
        "workspace.Milestone",
        "workspace.Risk",
        "workspace.Requirement",
        "workspace.CalendarEvent",
        "workspace.ProjectCalendar",
        "workspace.Membership",
    ],
    FULL: ["workspace.Profile", "gateway.Client", "gateway.ApiKey", "auth.User", "auth.Group"],
}


ROWS = {label: who for who, labels in MODELS_OF.items() for label in labels}


# Pages that belong to no one model, and further pages of one: who may GET and who may POST; None: nobody can.
PAGES: dict[str, tuple[str, str | None]] = {
    "registry_release_review": ("AEPU", "A"),
    **{f"registry_release_{name}": ("AEPU", "AEPU") for name in ("compare", "read")},  # to look at
    **{f"registry_release_{name}": ("A", "A") for name in ("make_live", "withdraw")},
    "registry_release_restore": ("AE", "AE"),
    "registry_op_files": ("AE", "AE"),
    "registry_op_download": ("AE", "AE"),  # writes nothing
    **{f"registry_{name}_preview": ("", "AEPU") for name in ("op", "group", "promptsection")},  # writes nothing
    **{f"registry_{name}_add_preview": ("", "AE") for name in ("op", "group", "promptsection")},
    **{  # to look at
        f"report_{name}": ("AEPU", "AEPU")
        for name in ("overview", "funnel", "ops", "models", "comparison", "selection", "lost")
    },
    **{f"analytics_{name}_effect": ("", "AP") for name in ("cohort", "flag")},  # writes nothing
    "analytics_cohort_add_effect": ("", "AP"),
    "analytics_flag_add_effect": ("", ""),  # flags are declared in the code
    "rollout_who": ("AEPU", "AEPU"),  # to look at
    "op_try": ("AE", "AE"),  # reads what a subject sees, writes nothing
    "index": (STAFF, STAFF),
    "login": (STAFF + "N", STAFF + "N"),
    "logout": ("N", STAFF + "N"),  # GET ends no session
    "password_change": (STAFF, STAFF),
    "password_change_done": (STAFF, None),
    "autocomplete": ("AEPU", None),
    "search": (STAFF, STAFF),  # tells each what they may see
    "jsi18n": (STAFF, None),
    "view_on_site": ("", ""),  # nothing of ours has a page elsewhere
    "app_list": ("AEPU", "AEPU"),
    "auth_user_password_change": ("A", "A"),
}


def patterns(resolver: URLResolver, space: str = "") -> Iterator[tuple[str, str | None, str]]:
    """Yield (namespace, name, route) of every address there is."""
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            yield from patterns(each, each.namespace or space)
        elif isinstance(each, URLPattern):
            yield space, each.name, str(each.pattern)


ADDRESSES = list(patterns(get_resolver()))


ADMIN_NAMES = sorted({name for space, name, _ in ADDRESSES if space == "admin" and name})


OF_MODELS = {
    f"{model._meta.app_label}_{model._meta.model_name}_{name}": (model, name)
    for model in MODELS
    for name in ("changelist", "add", "change", "delete", "history")
}


def may(name: str) -> tuple[str, str | None]:
    """Return who may GET and who may POST a page. Fails where nothing is written down."""
    if name not in OF_MODELS:
        return PAGES[name]
    model, of_model = OF_MODELS[name]
    looks, adds, changes, deletes = ROWS[model._meta.label]
    both = {"changelist": looks, "history": looks, "add": adds, "delete": deletes}
    return (both[of_model], both[of_model]) if of_model in both else (looks, changes)


def one_of_each() -> dict[str, Any]:
    """Return a row of every model by its label, none that nobody may change: what is shipped, and our own groups."""
    for model in MODELS:
        if "shipped" in {field.name for field in model._meta.fields}:
            model._default_manager.update(shipped=None)
    found = {model._meta.label: model._default_manager.order_by("pk").first() for model in MODELS}
    found["auth.Group"] = Group.objects.create(name="Night shift")
    assert [label for label, row in found.items() if row is None] == []
    return found


def create_person(letter: str) -> User:
    found = User.objects.create_user(f"person-{letter}", is_staff=letter != "N")
    if role := PEOPLE[letter]:
        found.groups.set(Group.objects.filter(name=role.value))
    return found


def address(name: str, rows: dict[str, Any]) -> str:
    if name in OF_MODELS:
        model, of_model = OF_MODELS[name]
        return page(model, of_model, *([] if of_model in ("changelist", "add") else [rows[model._meta.label].pk]))
    given = {
        "app_list": ["registry"],
        "registry_op_preview": [rows["registry.Op"].pk],
        "registry_group_preview": [rows["registry.Group"].pk],
        "registry_promptsection_preview": [rows["registry.PromptSection"].pk],
        "op_try": [rows["registry.Op"].pk],
        "analytics_cohort_effect": [rows["analytics.Cohort"].pk],
        "analytics_flag_effect": [rows["analytics.Flag"].pk],
        "view_on_site": [1, 1],
        "auth_user_password_change": [rows["auth.User"].pk],
    }
    of_a_release = [f"registry_release_{page}" for page in ("read", "make_live", "withdraw", "restore")]
    given |= {page: [rows["registry.Release"].pk] for page in of_a_release}
    told = {
        "autocomplete": "?app_label=registry&model_name=policyrule&field_name=op&term=task",
        "registry_release_read": f"?op={rows['registry.Op'].op}",
    }
    return reverse(f"admin:{name}", args=given.get(name)) + told.get(name, "")
