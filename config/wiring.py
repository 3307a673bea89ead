"""What the lower packages call without importing it. `config` may import every package, so the tables stand here."""

import sys
from datetime import timedelta
from functools import partial

from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.apps import apps
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.utils.module_loading import autodiscover_modules

from analytics import guardrails
from analytics.notifications import delivery
from analytics.rollout import rollout_cache
from analytics.rollups import rollup_job
from console.access import failed_sign_ins, users
from console.copy import add_op, try_op
from console.home import checklist
from console.reports import report_page, saved_views
from console.reports.report_list import REPORTS
from console.rollout import who_gets_this
from console.system import guides
from core import demo_data
from core.admin import page_parts, site
from core.admin.site import AdminPage
from core.background import poller
from core.manifest import Job, Manifest
from gateway import executors
from gateway.access import key_verification, release_routing
from gateway.api import health
from gateway.batches import broker, sweep
from gateway.execution import dry_runs, op_guesses
from gateway.executors import in_process
from gateway.jobs import retention, runner, subject_data
from gateway.oauth import sign_ins
from registry import search
from registry.catalog import cache, connections, switches
from registry.files import loader
from registry.imports import drift, import_job, mcp_import, run_import
from registry.releases import recorded_calls, unpublished
from registry.reviews import scheduling
from registry.search import op_embeddings


def _collect_manifests() -> tuple[Manifest, ...]:
    """Return the manifests of the installed apps, in their order."""
    autodiscover_modules("manifest")
    modules = (sys.modules.get(f"{app.name}.manifest") for app in apps.get_app_configs())
    return tuple(module.MANIFEST for module in modules if module)


MANIFESTS = _collect_manifests()

# Functions that the poller thread of each process calls every half second, in this order.
POLLED_FUNCTIONS = (
    cache.refresh_live,
    cache.drop_withdrawn,
    connections.refresh_connections,
    search.refresh_embeddings,
    switches.refresh_switches,
    rollout_cache.refresh,
    release_routing.preload_cohort_releases,
    key_verification.refresh_verified_keys,
    sweep.renew_and_sweep,
    broker.check_when_due,
    runner.check_when_due,
    health.update_gauges,
    runner.run_when_due,  # may take longest, so it comes after the functions that affect calls
)

# Functions that prepare a catalog before it is served. Each gets the catalog.
CATALOG_WARMERS = (search.warm,)

# Periodic jobs and their intervals. One process at a time runs each job.
PERIODIC_JOBS = (
    Job(retention.delete_idempotency_records, timedelta(minutes=5)),
    Job(retention.delete_used_confirmations, timedelta(minutes=5)),
    Job(retention.delete_batches, timedelta(minutes=5)),
    Job(retention.delete_sessions, timedelta(hours=1)),
    Job(retention.delete_sign_ins, timedelta(minutes=5)),
    Job(retention.delete_user_sign_ins, timedelta(minutes=5)),
    Job(retention.delete_oauth_tokens, timedelta(hours=1)),
    Job(retention.delete_stored_files, timedelta(minutes=5)),
    Job(retention.delete_figures, timedelta(hours=1)),
    Job(retention.delete_events, timedelta(minutes=10)),
    Job(retention.delete_turns, timedelta(minutes=10)),
    Job(retention.delete_subjects, timedelta(hours=1)),
    Job(retention.delete_contents, timedelta(minutes=10)),
    Job(rollup_job.run_rollup, timedelta(minutes=1)),
    Job(guardrails.stop_worse_cohorts, timedelta(minutes=1)),
    Job(unpublished.count_tokens, timedelta(minutes=1)),
    Job(op_embeddings.delete_unused, timedelta(days=1)),
    Job(import_job.delete_old, timedelta(minutes=1)),
    Job(drift.check_when_due, timedelta(minutes=1)),
    Job(scheduling.publish_when_due, timedelta(seconds=5)),
    Job(delivery.send_when_due, timedelta(seconds=30)),
    Job(delivery.delete_old, timedelta(hours=1)),
    *(job for each in MANIFESTS for job in each.jobs),
)

# Admin pages that do not belong to a single model.
ADMIN_PAGES = (
    AdminPage("password_change", "password_change/", users.change_own_password),
    AdminPage("op_new", "registry/op/new/", add_op.page),
    AdminPage("op_try", "registry/op/<int:pk>/try/", try_op.page),
    AdminPage("home_checklist_hide", "first-steps/hide/", checklist.hide),
    AdminPage(page_parts.SYSTEM_PAGE, "system/", page_parts.render_index_page),
    AdminPage(page_parts.GUIDES_PAGE, "guides/", page_parts.render_index_page),
    AdminPage("guide", "guides/<path:name>/", guides.page),
    AdminPage("rollout_who", "rollout/who/", who_gets_this.page),
    AdminPage("saved_view_save", "saved-views/save/", saved_views.save),
    AdminPage("saved_view_delete", "saved-views/delete/", saved_views.delete),
    *(AdminPage(report.url_name, report.path, partial(report_page.page, report=report)) for report in REPORTS),
)


def connect() -> None:
    """Hand each table to the module that works on it."""
    poller.set_functions(POLLED_FUNCTIONS)
    cache.set_warmers(CATALOG_WARMERS)
    runner.set_jobs(PERIODIC_JOBS)
    site.set_pages(ADMIN_PAGES)
    user_logged_in.connect(failed_sign_ins.record_sign_in, dispatch_uid="sign_in_log.record_sign_in")
    user_logged_out.connect(failed_sign_ins.record_sign_out, dispatch_uid="sign_in_log.record_sign_out")
    authenticator_added.connect(failed_sign_ins.record_added_factor, dispatch_uid="sign_in_log.record_added_factor")
    authenticator_removed.connect(
        failed_sign_ins.record_removed_factor, dispatch_uid="sign_in_log.record_removed_factor"
    )
    subject_data.set_row_finders([each.find_rows for each in MANIFESTS if each.find_rows])
    for subject_finder in (each.find_subject for each in MANIFESTS if each.find_subject):
        sign_ins.set_subject_finder(subject_finder)
    demo_data.set_demo_data([each.demo for each in MANIFESTS if each.demo])
    connections.set_upstream_check(executors.explain_missing)
    recorded_calls.set_replayer(dry_runs.replay_calls)
    mcp_import.set_lister(executors.list_mcp_server)
    run_import.set_name_resolver(op_guesses.resolve_name)
    loader.set_app_folders(each.copy for each in MANIFESTS if each.copy)
    for upstream in (upstream for each in MANIFESTS for upstream in each.upstreams):
        in_process.add_upstream(upstream)
