"""The gateway's rows in the admin, a module a page; importing one registers it."""

from gateway.admin import accounts, activity, clients, records, rollout

__all__ = ["accounts", "activity", "clients", "records", "rollout"]
