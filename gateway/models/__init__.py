"""Clients and their keys, the state of calls, and what the gateway stores for upstreams and end users."""

from gateway.models.calls import Batch, BatchEntry, IdempotencyRecord, PeriodicJob, StoredFile, UsedConfirmation
from gateway.models.client import ApiKey, Client, FlowMode, Scope, SignedInApplication, all_scopes, every_op
from gateway.models.end_users import EndUserSettings, OpenedLink, UserKey
from gateway.models.model_run import ModelRun
from gateway.models.pending_input import PendingInput
from gateway.models.turn_label import TurnLabel
from gateway.models.upstream_credentials import ConnectionSecret, SignIn, UserGrant

__all__ = [
    "ApiKey",
    "Batch",
    "BatchEntry",
    "Client",
    "ConnectionSecret",
    "EndUserSettings",
    "FlowMode",
    "IdempotencyRecord",
    "ModelRun",
    "OpenedLink",
    "PendingInput",
    "PeriodicJob",
    "Scope",
    "SignIn",
    "SignedInApplication",
    "StoredFile",
    "TurnLabel",
    "UsedConfirmation",
    "UserGrant",
    "UserKey",
    "all_scopes",
    "every_op",
]
