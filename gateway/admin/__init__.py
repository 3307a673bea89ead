"""Admin pages of the gateway. Each module registers its models when it is imported."""

from gateway.admin import accounts, activity, clients, records, rollout

__all__ = ["accounts", "activity", "clients", "records", "rollout"]
