"""What analytics declares: its jobs, the flags that each process keeps in memory, and who sees its rows."""

from datetime import timedelta

from analytics import retention
from analytics.alerts import alert_job
from analytics.events import event_log, stored_contents
from analytics.experiments import experiment_job
from analytics.rollout import assignment
from core.manifest import AuditKind, Job, Manifest, PollerThread, Verbs, WatchedModel

EXPERIMENT_VERBS: Verbs = {
    "decision": {"ship": "shipped", "drop": "dropped"},
    "state": {"running": "started", "stopped": "stopped"},
    "step": {None: "went to its next step"},
    "hold_reason": {"": "goes on by itself again", None: "held"},
}
ALERT_VERBS: Verbs = {
    "is_open": {True: "opened", False: "closed"},
    "silenced_until": {None: "silenced"},
    "is_silenced": {False: "no longer silenced"},
}

MANIFEST = Manifest(
    jobs=[
        Job("rollups.run", experiment_job.measure, timedelta(minutes=1)),
        Job("alerts.check", alert_job.check_alerts, timedelta(minutes=1)),
        Job("events.delete_old", retention.delete_events, timedelta(minutes=10)),
        Job("events.delete_contents", retention.delete_contents, timedelta(minutes=10)),
        Job("events.delete_turns", retention.delete_turns, timedelta(minutes=10)),
        Job("events.delete_figures", retention.delete_figures, timedelta(hours=1)),
        Job("events.delete_subjects", retention.delete_subjects, timedelta(hours=1)),
    ],
    watched=[
        WatchedModel("analytics.Flag"),
        WatchedModel("analytics.Cohort"),
        WatchedModel("analytics.CohortRule"),
        WatchedModel("analytics.StoredContents"),
    ],
    refreshed=[assignment.refresh_rollout, stored_contents.refresh_rules],
    polled={PollerThread.MEMORY: [event_log.update_metrics]},
    audit_kinds={
        "flag": AuditKind("flag"),
        "cohort": AuditKind("cohort"),
        "experiment": AuditKind("experiment", verbs=EXPERIMENT_VERBS),
        "price": AuditKind("model price"),
        "subject": AuditKind("subject"),
        "report": AuditKind("report"),
        "view": AuditKind("saved view"),
        "contents": AuditKind("stored contents"),
        "alert": AuditKind("alert", verbs=ALERT_VERBS),
        "alert_rule": AuditKind("alert rule"),
    },
    areas={
        "rollout": [
            "analytics.flag",
            "analytics.cohort",
            "analytics.cohortrule",
            "analytics.experiment",
            "analytics.modelprice",
        ],
        "alerts": ["analytics.alertrule", "analytics.alert"],
        "activity": [
            "analytics.operationevent",
            "analytics.eventloss",
            "analytics.opdaily",
            "analytics.rollup",
            "analytics.assignment",
            "analytics.subject",
            "analytics.turn",
            "analytics.toolselection",
            "analytics.feedback",
            "analytics.savedview",
            "analytics.storedcontents",
            "analytics.subjectfigures",
            "analytics.experimentresult",
        ],
    },
    settings=[
        "AGENTIC_CHAT_TOOL_GATEWAY",
        "GATEWAY_EVENT_DAYS",
        "GATEWAY_CONTENT_DAYS",
        "GATEWAY_SPOOL_FOLDER",
        "GATEWAY_SPOOL_MAX_BYTES",
        "GATEWAY_FIGURES_DAYS",
        "GATEWAY_DOLLARS_PER_MILLION_TOKENS",
    ],
)
