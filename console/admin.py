"""Where Django looks for pages: it imports the modules that register a model. Any other page belongs to one of them."""

from console.access import applications, clients, failed_sign_ins, switches, users
from console.activity import activity, stored_contents
from console.connections import connections
from console.copy import history, ops, other_copy, vocabulary
from console.evals import cases, model_runs
from console.home import alert_rules
from console.releases import history as release_history
from console.releases import releases, review_requests, schedule
from console.reports import saved_views
from console.rollout import cohorts, experiments, exposures, flags
from console.system import service_rows

__all__ = [
    "activity",
    "alert_rules",
    "applications",
    "cases",
    "clients",
    "cohorts",
    "connections",
    "experiments",
    "exposures",
    "failed_sign_ins",
    "flags",
    "history",
    "model_runs",
    "ops",
    "other_copy",
    "release_history",
    "releases",
    "review_requests",
    "saved_views",
    "schedule",
    "service_rows",
    "stored_contents",
    "switches",
    "users",
    "vocabulary",
]
