"""What the gateway declares: its ops, its jobs, what each process refreshes, and who sees its rows."""

from datetime import timedelta

from core import memory
from core.handler_contract import EmbeddedUpstream
from core.manifest import AuditKind, Job, Manifest, PollerThread, WatchedModel
from gateway import builtin_ops
from gateway.access import key_verification, release_routing
from gateway.api import health
from gateway.batches import broker, sweep
from gateway.credentials import end_user_settings
from gateway.executors.mcp import waiting_calls
from gateway.jobs import late_jobs, retention, runner
from gateway.model_evals import job

MINUTES = timedelta(minutes=1)

MANIFEST = Manifest(
    upstreams=[EmbeddedUpstream("utilities", builtin_ops.HANDLERS)],
    jobs=[
        Job("calls.delete_idempotency_records", retention.delete_idempotency_records, 5 * MINUTES),
        Job("calls.delete_used_confirmations", retention.delete_used_confirmations, 5 * MINUTES),
        Job("calls.delete_turn_labels", retention.delete_turn_labels, 60 * MINUTES),
        Job("calls.delete_pending_inputs", retention.delete_pending_inputs, 5 * MINUTES),
        Job("calls.delete_batches", retention.delete_batches, 5 * MINUTES),
        Job("calls.delete_stored_files", retention.delete_stored_files, 5 * MINUTES),
        Job("users.delete_sessions", retention.delete_sessions, 60 * MINUTES),
        Job("users.delete_sign_ins", retention.delete_sign_ins, 5 * MINUTES),
        Job("users.delete_upstream_sign_ins", retention.delete_user_sign_ins, 5 * MINUTES),
        Job("users.delete_opened_links", retention.delete_opened_links, 5 * MINUTES),
        Job("users.delete_oauth_tokens", retention.delete_oauth_tokens, 60 * MINUTES),
        Job("evals.end_lost_runs", job.end_lost_runs, MINUTES),
    ],
    watched=[
        WatchedModel("gateway.Client"),
        WatchedModel("gateway.ApiKey", ignored=["last_used_at"]),
        WatchedModel("gateway.EndUserSettings"),
    ],
    refreshed=[end_user_settings.refresh_settings, key_verification.refresh_verified_keys],
    polled={
        PollerThread.MEMORY: [key_verification.check_new_keys, broker.check_when_due, health.update_metrics],
        PollerThread.RELEASES: [release_routing.preload_cohort_releases],
        PollerThread.UPKEEP: [
            waiting_calls.deliver_when_due,
            sweep.sweep_when_due,
            key_verification.save_last_used,
            runner.check_when_due,
            late_jobs.check_when_due,
            memory.return_when_due,
        ],
    },
    audit_kinds={
        "client": AuditKind("client", "gateway.view_client"),
        "api_key": AuditKind("API key", "gateway.view_apikey"),
        "user_key": AuditKind("own key for", "gateway.view_userkey"),
        "oauth_app": AuditKind("OAuth application", "oauth2_provider.view_application"),
    },
    areas={
        "model_runs": ["gateway.modelrun"],
        "calls": [
            "gateway.idempotencyrecord",
            "gateway.usedconfirmation",
            "gateway.pendinginput",
            "gateway.turnlabel",
            "gateway.batch",
            "gateway.batchentry",
            "gateway.storedfile",
            "gateway.periodicjob",
        ],
        "clients": [
            "gateway.client",
            "gateway.apikey",
            "gateway.signedinapplication",
            "oauth2_provider.application",
        ],
        "credentials": [
            "gateway.connectionsecret",
            "gateway.usergrant",
            "gateway.signin",
            "gateway.endusersettings",
            "gateway.userkey",
            "gateway.openedlink",
        ],
    },
    settings=[
        "GATEWAY_KEY_PEPPER",
        "GATEWAY_ENCRYPTION_KEYS",
        "GATEWAY_BODY_MAX_BYTES",
        "GATEWAY_METRICS_TOKEN",
        "GATEWAY_OAUTH",
        "GATEWAY_OAUTH_CLIENT",
        "GATEWAY_DATA_FLOW",
        "GATEWAY_SELECTION_TOKENS",
        "GATEWAY_RESULT_TOKENS",
        "GATEWAY_BATCH_THREADS",
        "GATEWAY_BATCH_SECONDS",
        "GATEWAY_BATCH_BACKGROUND_SECONDS",
        "GATEWAY_UPSTREAM_ALLOW",
        "GATEWAY_MCP_COMMANDS",
        "WEB_VISIT_ALLOW",
        "WEB_SEARCH_KIND",
        "WEB_SEARCH_URL",
        "WEB_SEARCH_KEY",
        "GATEWAY_IDEMPOTENCY_HOURS",
        "GATEWAY_BATCH_HOURS",
        "GATEWAY_FILE_HOURS",
        "GATEWAY_FILE_MAX_BYTES",
    ],
)
