"""Where Django looks for pages: it imports the modules that register a model. Any other page belongs to one of them."""

from console.access import applications, clients, failed_sign_ins, switches, users
from console.activity import activity
from console.connections import connections, user_grants
from console.copy import copy_rows, history, ops, other_copy
from console.evals import cases, model_runs
from console.releases import history as release_history
from console.releases import releases, review_requests, schedule
from console.reports import saved_view_list
from console.rollout import assignments, cohorts, flags, subjects
from console.system import call_records, notifications, op_embeddings, rollups, stored_files

__all__ = [
    "activity",
    "applications",
    "assignments",
    "call_records",
    "cases",
    "clients",
    "cohorts",
    "connections",
    "copy_rows",
    "failed_sign_ins",
    "flags",
    "history",
    "model_runs",
    "notifications",
    "op_embeddings",
    "ops",
    "other_copy",
    "release_history",
    "releases",
    "review_requests",
    "rollups",
    "saved_view_list",
    "schedule",
    "stored_files",
    "subjects",
    "switches",
    "user_grants",
    "users",
]
