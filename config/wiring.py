"""What the lower packages call without importing it. `config` may import every package, so the tables stand here."""

from collections.abc import Mapping
from importlib import import_module

from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import module_has_submodule

from chat.conversations import retention as chat_retention
from chat.models import Profile as ChatProfile
from console.access import failed_sign_ins
from core import manifest
from core.manifest import Manifest, merge
from gateway import builtin_ops, executors
from gateway.demo import domains
from gateway.execution import dry_runs, op_guesses
from gateway.executors import embedded, example
from gateway.executors.embedded import Handler
from gateway.jobs import subject_data
from gateway.oauth import sign_ins
from registry import search
from registry.catalog import cache, connections
from registry.imports import mcp_import, run_import
from registry.releases import recorded_calls
from workspace import handlers
from workspace.contract import Lookups
from workspace.handlers.generic import fields
from workspace.services import access
from workspace.services.search import row_finder

# Functions that prepare a catalog before it is served. Each gets the catalog.
CATALOG_WARMERS = (search.warm,)

# Embedded upstreams: the name of the connection, and its handlers by tool name.
EMBEDDED_UPSTREAMS: dict[str, Mapping[str, Handler]] = {
    "workspace": handlers.HANDLERS,
    "utilities": builtin_ops.HANDLERS,
}

# What embedded upstreams can look up for an error that says what to send instead.
UPSTREAM_LOOKUPS = {
    "workspace": Lookups(
        find_rows=row_finder.find_rows,
        get_time_zone=access.get_zone,
        find_project=row_finder.find_project,
        find_title=row_finder.find_title,
        find_kind=row_finder.find_kind,
        find_date=row_finder.find_date,
        check_args=fields.check_args,
    ),
}


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
    return collected


def _check_areas(collected: Manifest, labels: set[str]) -> None:
    """Raise ImproperlyConfigured for a model that belongs to no area, because no role could be allowed to see it."""
    listed = {model for models in collected.areas.values() for model in models}
    for model in apps.get_models():
        if model._meta.app_label in labels and model._meta.label_lower not in listed:
            raise ImproperlyConfigured(f"{model._meta.label} is in no area. Add it to areas of its app's manifest.")


def get_subject(user: User) -> str:
    """Return the subject of a user: that of the chat profile, empty without one.

    It is never the user name: another user may have it as subject.
    """
    return ChatProfile.objects.filter(user=user).values_list("subject", flat=True).first() or ""


def connect() -> None:
    """Hand each table to the module that works on it."""
    manifest.set_collected(collect_manifests())
    cache.set_warmers(CATALOG_WARMERS)
    user_logged_in.connect(failed_sign_ins.record_sign_in, dispatch_uid="sign_in_log.record_sign_in")
    user_logged_out.connect(failed_sign_ins.record_sign_out, dispatch_uid="sign_in_log.record_sign_out")
    authenticator_added.connect(failed_sign_ins.record_added_factor, dispatch_uid="sign_in_log.record_added_factor")
    authenticator_removed.connect(
        failed_sign_ins.record_removed_factor, dispatch_uid="sign_in_log.record_removed_factor"
    )
    sign_ins.set_subject_finder(get_subject)
    subject_data.set_row_finders([chat_retention.find_rows])
    connections.set_upstream_check(executors.explain_missing)
    recorded_calls.set_replayer(dry_runs.replay_calls)
    mcp_import.set_lister(executors.list_mcp_server)
    run_import.set_name_resolver(op_guesses.resolve_name)
    for connection, table in EMBEDDED_UPSTREAMS.items():
        embedded.add_upstream(connection, table, UPSTREAM_LOOKUPS.get(connection))
    example.set_handlers(domains.HANDLERS)
