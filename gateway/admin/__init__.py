"""Admin pages of the gateway. Each module registers its models when it is imported."""

from gateway.admin import users, activity, clients, call_records, rollout

__all__ = ["accounts", "activity", "clients", "records", "rollout"]
