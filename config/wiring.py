"""What the lower packages call without importing it. `config` may import every package, so the tables stand here."""

from importlib import import_module

from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.apps import apps
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import module_has_submodule

from analytics.alerts import registry_readers
from analytics.alerts.registry_readers import RegistryReaders
from analytics.experiments import arm_text, lifecycle
from analytics.rollout import assignment
from audit.models import AuditEntry
from console import sidebar
from console.access import failed_sign_ins
from core import demo_data, manifest
from core.manifest import Manifest, merge
from gateway import executors
from gateway.execution import dry_runs, op_guesses
from gateway.executors import in_process
from gateway.executors.http import trial_request
from gateway.jobs import subject_data
from gateway.oauth import sign_ins
from registry import search
from registry.catalog import cache, connections
from registry.files import loader
from registry.imports import definitions, mcp_import, run_import, self_check
from registry.releases import recorded_calls, stored_releases
from registry.reviews import cohort_release

# Functions that prepare a catalog before it is served. Each gets the catalog.
CATALOG_WARMERS = (search.warm_catalog,)


def collect_manifests() -> Manifest:
    """Return what all installed apps declare. Raises ImproperlyConfigured.

    The apps come in the order of the floors, so that each process refreshes what others build on first.
    """
    configs = [
        config for config in reversed(list(apps.get_app_configs())) if module_has_submodule(config.module, "manifest")
    ]
    modules = [import_module(f"{config.name}.manifest") for config in configs]
    collected = merge(module.MANIFEST for module in modules)
    _check_areas(collected, {config.label for config in configs})
    _check_audit_kinds(collected)
    sidebar.check(collected)
    return collected


def _check_areas(collected: Manifest, labels: set[str]) -> None:
    """Raise ImproperlyConfigured for a model that belongs to no area, because no role could be allowed to see it."""
    listed = {model for models in collected.areas.values() for model in models}
    for model in apps.get_models():
        if model._meta.app_label in labels and model._meta.label_lower not in listed:
            raise ImproperlyConfigured(f"{model._meta.label} is in no area. Add it to areas of its app's manifest.")


def _check_audit_kinds(collected: Manifest) -> None:
    """Raise ImproperlyConfigured for a kind that is too long for its column, which only PostgreSQL would refuse."""
    longest = AuditEntry._meta.get_field("kind").max_length or 0
    for kind in collected.audit_kinds:
        if len(kind) > longest:
            raise ImproperlyConfigured(f"The kind of audit log entries {kind} has more than {longest} characters.")


def connect() -> None:
    """Hand each table to the module that works on it."""
    declared = collect_manifests()
    manifest.set_collected(declared)
    cache.set_warmers(CATALOG_WARMERS)
    assignment.set_release_check(cache.is_servable)
    lifecycle.set_shipper(cohort_release.ship_version)
    arm_text.set_release_namer(stored_releases.map_short_names)
    registry_readers.set_readers(
        RegistryReaders(definitions.map_connections, definitions.count_changed, stored_releases.map_short_names)
    )
    user_logged_in.connect(failed_sign_ins.record_sign_in, dispatch_uid="sign_in_log.record_sign_in")
    user_logged_out.connect(failed_sign_ins.record_sign_out, dispatch_uid="sign_in_log.record_sign_out")
    authenticator_added.connect(failed_sign_ins.record_added_factor, dispatch_uid="sign_in_log.record_added_factor")
    authenticator_removed.connect(
        failed_sign_ins.record_removed_factor, dispatch_uid="sign_in_log.record_removed_factor"
    )
    subject_data.set_row_finders(declared.row_finders)
    for finder in declared.subject_finders:
        sign_ins.set_subject_finder(finder)
    demo_data.set_demo_data(declared.demos)
    connections.set_upstream_check(executors.explain_missing)
    recorded_calls.set_replayer(dry_runs.replay_calls)
    mcp_import.set_lister(executors.list_mcp_server)
    run_import.set_name_resolver(op_guesses.resolve_name)
    self_check.set_request_builder(trial_request.build_trial_request)
    loader.set_app_folders(declared.copy_folders)
    for upstream in declared.upstreams:
        in_process.add_upstream(upstream)
