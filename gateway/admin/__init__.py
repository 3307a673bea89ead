"""Admin pages of the gateway. Each module registers its models when it is imported."""

from gateway.admin import (
    activity,
    call_records,
    clients,
    connections,
    failed_sign_ins,
    model_runs,
    oauth,
    rollout,
    saved_view_list,
    stored_files,
    user_grants,
    users,
)

__all__ = [
    "activity",
    "call_records",
    "clients",
    "connections",
    "failed_sign_ins",
    "model_runs",
    "oauth",
    "rollout",
    "saved_view_list",
    "stored_files",
    "user_grants",
    "users",
]
