"""The expected roles for every admin page, a row for each page, and a user of each role."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import Group, User
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from analytics.alerts.models import Alert, AlertRule
from audit.models import AuditEntry
from console.access.roles import Role
from core import manifest
from registry.models import Connection, DocumentImport
from tests.support.console.admin_models import MODELS, get_admin_url

# Letters of roles: Admin, Editor, Product manager, aUditor, Staff without a role, N for a user who is not staff.
ROLES_BY_LETTER = {
    "A": Role.ADMIN,
    "E": Role.EDITOR,
    "P": Role.PRODUCT_MANAGER,
    "U": Role.AUDITOR,
    "S": None,
    "N": None,
}


STAFF = "AEPUS"


# The roles that may view, add, change and delete.
COPY = ("AEPU", "AE", "AE", "AE")
READ = ("AEPU", "", "", "")  # only services change these rows
CALLS = ("AU", "", "", "")
OWNED = ("AU", "A", "A", "")  # deletion is a separate action that marks rows as deleted
FULL = ("AU", "A", "A", "A")
MODELS_BY_ROLES = {
    COPY: """
    registry.Group registry.Op registry.PromptSection registry.Agent registry.Pin registry.Vocabulary
    registry.PolicyRule registry.Example registry.OpAlias registry.EvalCase
""".split(),
    READ: """
    registry.Release registry.Activation registry.ReviewRequest registry.ScheduledPublish audit.AuditEntry
    analytics.OperationEvent analytics.OpDaily analytics.Rollup analytics.Assignment analytics.Turn
    analytics.ToolSelection analytics.Feedback analytics.Subject analytics.EventLoss
""".split(),
    ("AEPU", "AE", "", ""): ["gateway.ModelRun"],
    ("AEPU", "AP", "AP", "AP"): """
    analytics.Cohort analytics.AlertRule analytics.Experiment analytics.ModelPrice
""".split(),
    ("AEPU", "", "AP", ""): ["analytics.Flag"],  # declared in the code
    ("AEPU", "", "A", ""): ["registry.Switch", "analytics.StoredContents"],  # added elsewhere
    ("AEPU", "A", "A", "A"): ["registry.Connection"],
    ("AU", "", "", "A"): ["gateway.UserGrant", "gateway.UserKey"],
    ("AEPU", "", "", "A"): ["analytics.SavedView"],  # people save and delete theirs on the pages that they filter
    CALLS: """
    notifications.Notification gateway.StoredFile gateway.SignedInApplication gateway.IdempotencyRecord
    gateway.UsedConfirmation gateway.PendingInput gateway.TurnLabel gateway.Batch gateway.BatchEntry gateway.PeriodicJob
    registry.OpEmbedding axes.AccessAttempt workspace.Edge workspace.WriteRecord
""".split(),
    OWNED: """
    workspace.Project workspace.Task workspace.Document workspace.Goal workspace.Plan workspace.Milestone
    workspace.Risk workspace.Requirement workspace.CalendarEvent workspace.ProjectCalendar workspace.Membership
""".split(),
    FULL: """
    workspace.Profile chat.Profile gateway.Client gateway.ApiKey auth.User auth.Group
    oauth2_provider.Application
""".split(),
}


# What a run of eval cases through a model stores of a case, with words that could break a page.
MODEL_RUN_RESULT = {
    "request": "<b>Remind me</b>",
    "op": "onto.task.create",
    "calls": ["onto.task.list"],
    "rounds": 2,
    "tokens": 900,
    "op_right": False,
    "args_right": None,
    "problem": "",
}

ROLES_BY_MODEL = {label: who for who, labels in MODELS_BY_ROLES.items() for label in labels}


# Models of copy with a preview, by the name that their pages have.
COPY_MODELS = {
    label.partition(".")[2].lower(): label
    for label in ("registry.Op", "registry.Group", "registry.PromptSection", "registry.Agent", "registry.Pin")
}

RELEASE_ACTIONS = ("make_live", "resume", "drop", "withdraw", "restore", "name")

# Pages that are not a model's standard pages: the roles that may GET and POST. None if the page takes no POST.
PAGES: dict[str, tuple[str, str | None]] = {
    "registry_release_review": ("AEPU", "A"),
    **{f"registry_release_{name}": ("AEPU", "AEPU") for name in ("compare", "read", "added_ops")},  # read-only
    **{f"registry_release_{name}": ("A", "A") for name in ("make_live", "resume", "drop", "withdraw")},
    "registry_release_restore": ("AE", "AE"),
    "registry_release_discard": ("", ""),  # needs the name of an entry; tests/unit/console/releases/test_review_page.py
    "registry_release_fix": ("", ""),  # needs warnings; tests/unit/console/releases/test_warning_groups.py
    "registry_release_cancel_schedule": ("", "A"),
    "registry_release_discard_all": ("AE", "AE"),
    "registry_change_revert": ("AE", "AE"),
    "registry_release_name": ("A", "A"),
    "registry_evalcase_compare": ("AEPU", "AEPU"),  # read-only
    "registry_evalcase_files": ("AEPU", "AE"),
    "registry_evalcase_download": ("AEPU", "AEPU"),  # writes nothing
    "registry_op_files": ("AE", "AE"),
    "registry_op_edit": ("AE", "AE"),
    "registry_op_download": ("AE", "AE"),  # writes nothing
    **{f"registry_{name}_preview": ("", "AEPU") for name in COPY_MODELS},  # writes nothing
    **{f"registry_{name}_add_preview": ("", "AE") for name in COPY_MODELS},
    **{  # read-only
        f"report_{name}": ("AEPU", "AEPU")
        for name in ("overview", "funnel", "ops", "models", "clients", "comparison", "selection", "dead_ends", "misses")
    },
    **{f"analytics_{name}_impact": ("", "AP") for name in ("cohort", "flag")},  # writes nothing
    "analytics_cohort_add_impact": ("", "AP"),
    **{f"analytics_experiment_{name}": ("", "AP") for name in ("plan", "add_plan")},  # writes nothing
    "analytics_flag_holdout": ("", "AP"),
    "analytics_flag_add_impact": ("", ""),  # flags are declared in the code
    **{f"saved_view_{name}": ("", "") for name in ("save", "delete")},  # need a page or a view; test_saved_views.py
    "analytics_experiment_step": ("", ""),  # needs a step; tests/unit/console/rollout/test_experiments.py
    "analytics_cohort_widen": ("AP", "AP"),
    "analytics_cohort_step": ("", ""),  # needs a step; tests/unit/console/rollout/test_cohort_facts.py
    "access_data_flow": ("AU", "AU"),  # read-only
    "rollout_who": ("AEPU", "AEPU"),  # read-only
    "home_checklist_hide": ("", "A"),
    "alerts": ("AEPU", "AEPU"),  # read-only
    "alert_silence": ("", "AP"),
    "analytics_alertrule_openings": ("", "AP"),  # writes nothing
    "analytics_alertrule_add_openings": ("", "AP"),
    "system": ("AEPU", "AEPU"),  # shows each user what they may see
    **dict.fromkeys(("guides", "guide"), (STAFF, STAFF)),
    "registry_connection_import": ("A", "A"),
    "registry_connection_import_server": ("A", "A"),
    "registry_documentimport": ("A", "A"),
    "registry_connection_changes": ("A", "A"),
    **{f"registry_connection_{name}": ("A", "A") for name in ("test", "check")},
    "op_new": ("AE", "AE"),
    "op_try": ("AE", "AE"),  # reads what a subject sees, writes nothing
    "index": (STAFF, STAFF),
    "login": (STAFF + "N", STAFF + "N"),
    "logout": ("N", STAFF + "N"),  # GET ends no session
    "password_change": (STAFF, STAFF),
    "password_change_done": (STAFF, None),
    "autocomplete": ("AEPU", None),
    "search": (STAFF, STAFF),  # shows each user what they may see
    "jsi18n": (STAFF, None),
    "view_on_site": ("", ""),  # no model has a page outside the console
    "app_list": ("AEPU", "AEPU"),
    "auth_user_password_change": ("A", "A"),
}


def iterate_routes(resolver: URLResolver, space: str = "") -> Iterator[tuple[str, str | None, str]]:
    """Yield (namespace, name, route) of every URL pattern."""
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            yield from iterate_routes(each, each.namespace or space)
        elif isinstance(each, URLPattern):
            yield space, each.name, str(each.pattern)


ADDRESSES = list(iterate_routes(get_resolver()))
ADMIN_NAMES = sorted({name for space, name, _ in ADDRESSES if space == "admin" and name})
MODEL_PAGES = {
    f"{model._meta.app_label}_{model._meta.model_name}_{name}": (model, name)
    for model in MODELS
    for name in ("changelist", "add", "change", "delete", "history")
}


def get_expected_roles(name: str) -> tuple[str, str | None]:
    """Return the roles that can GET and POST a page. Fails for a page without an expectation."""
    if name not in MODEL_PAGES:
        return PAGES[name]
    model, of_model = MODEL_PAGES[name]
    looks, adds, changes, deletes = ROLES_BY_MODEL[model._meta.label]
    both = {"changelist": looks, "history": looks, "add": adds, "delete": deletes}
    return (both[of_model], both[of_model]) if of_model in both else (looks, changes)


def pick_row_of_each_model() -> dict[str, Any]:
    """Return a row of every model by label, all of which the roles may change: none is shipped, the group is new."""
    AlertRule.objects.update(key="")
    for model in MODELS:
        if "shipped" in {field.name for field in model._meta.fields}:
            model._default_manager.update(shipped=None)
    rows = {model._meta.label: model._default_manager.order_by("pk").first() for model in MODELS}
    restricted = [name for name, kind in manifest.get().audit_kinds.items() if kind.permission]
    entries = AuditEntry.objects.exclude(kind__in=restricted).order_by("pk")  # those that every role can see
    rows["audit.AuditEntry"] = entries.first()
    rows["auth.Group"] = Group.objects.create(name="Night shift")
    rows["http service"] = Connection.objects.create(name="pets", kind="http", base_url="https://pets.example.com")
    rows["document"] = DocumentImport.objects.create(url="https://pets.example.com/openapi.json", created_by="ana")
    figures = {"value": 90.0, "count": 10, "worst_value": 100.0, "worst_count": 5}
    rows["alert"] = Alert.objects.create(
        rule=AlertRule.objects.get(name="An op fails"),
        scope_value="<b>op</b>",
        opened_at=timezone.now(),
        exceeded_at=timezone.now(),
        **figures,
    )
    assert [label for label, row in rows.items() if row is None] == []
    return rows


def create_user_with_role(letter: str) -> User:
    user = User.objects.create_user(f"person-{letter}", is_staff=letter != "N")
    if role := ROLES_BY_LETTER[letter]:
        user.groups.set(Group.objects.filter(name=role.value))
    return user


def get_page_url(name: str, rows: dict[str, Any]) -> str:
    if name in MODEL_PAGES:
        model, of_model = MODEL_PAGES[name]
        return get_admin_url(
            model, of_model, *([] if of_model in ("changelist", "add") else [rows[model._meta.label].pk])
        )
    args = {
        "app_list": ["registry"],
        "guide": ["admin-guide"],
        **{f"registry_{name}_preview": [rows[label].pk] for name, label in COPY_MODELS.items()},
        "op_try": [rows["registry.Op"].pk],
        "registry_change_revert": [rows["audit.AuditEntry"].pk],
        **{f"registry_connection_{name}": [rows["http service"].pk] for name in ("changes", "test", "check")},
        "registry_documentimport": [rows["document"].pk],
        **{f"analytics_experiment_{name}": [rows["analytics.Experiment"].pk] for name in ("plan", "step")},
        **{f"analytics_cohort_{name}": [rows["analytics.Cohort"].pk] for name in ("impact", "step", "widen")},
        **{f"analytics_flag_{name}": [rows["analytics.Flag"].pk] for name in ("impact", "holdout")},
        "alert_silence": [rows["alert"].pk],
        "analytics_alertrule_openings": [rows["analytics.AlertRule"].pk],
        "view_on_site": [1, 1],
        "auth_user_password_change": [rows["auth.User"].pk],
    }
    of_a_release = [f"registry_release_{page}" for page in ("read", *RELEASE_ACTIONS)]
    args |= {page: [rows["registry.Release"].pk] for page in of_a_release}
    query = {
        "autocomplete": "?app_label=registry&model_name=policyrule&field_name=op&term=task",
        "registry_release_read": f"?op={rows['registry.Op'].op}",
    }
    return reverse(f"admin:{name}", args=args.get(name)) + query.get(name, "")
