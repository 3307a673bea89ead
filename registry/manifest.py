"""What the registry declares: jobs of the draft and of imports, and the release that each process keeps in memory."""

from datetime import timedelta

from core.manifest import AuditKind, Job, Manifest, PollerThread, WatchedModel
from registry import search
from registry.catalog import cache, connections, switches
from registry.imports import drift, import_job
from registry.releases import unpublished
from registry.reviews import scheduling
from registry.search import op_embeddings
from registry.snapshot.copy_kinds import Kind

MANIFEST = Manifest(
    jobs=[
        Job("drafts.count_tokens", unpublished.count_tokens, timedelta(minutes=1)),
        Job("embeddings.delete_unused", op_embeddings.delete_unused, timedelta(days=1)),
        Job("imports.delete_old", import_job.delete_old, timedelta(minutes=1)),
        Job("imports.check_upstreams", drift.check_when_due, timedelta(minutes=1)),
        Job("reviews.publish_scheduled", scheduling.publish_when_due, timedelta(seconds=5)),
    ],
    watched=[
        WatchedModel("registry.Activation"),
        WatchedModel("registry.Release"),
        WatchedModel("registry.Connection"),
        WatchedModel("registry.UpstreamDefinition"),
        WatchedModel("registry.Switch"),
    ],
    refreshed=[
        cache.read_live_version,
        cache.drop_withdrawn,
        connections.refresh_connections,
        switches.refresh_switches,
    ],
    polled={
        PollerThread.MEMORY: [cache.check_new_releases, search.refresh_embeddings, cache.update_metrics],
        PollerThread.RELEASES: [cache.load_live],
    },
    audit_kinds={
        **{kind.value: AuditKind(kind.label) for kind in Kind},
        "connection": AuditKind("connection"),
        "eval_case": AuditKind("eval case"),
        "copy": AuditKind("copy"),  # as a whole: files that were exported or imported
        "review": AuditKind("review of draft", names_draft=True),
        "schedule": AuditKind("scheduled publish of draft", names_draft=True),
    },
    areas={
        "copy": [
            "registry.group",
            "registry.op",
            "registry.policyrule",
            "registry.example",
            "registry.opalias",
            "registry.promptsection",
            "registry.agent",
            "registry.pin",
            "registry.vocabulary",
            "registry.evalcase",
        ],
        "releases": ["registry.release", "registry.activation"],
        "reviews": ["registry.reviewrequest", "registry.reviewcomment", "registry.scheduledpublish"],
        "switches": [
            "registry.switch",
            "registry.connection",
            "registry.documentimport",
            "registry.upstreamdefinition",
        ],
        "calls": ["registry.opembedding"],
    },
    settings=[
        "GATEWAY_RELEASES_KEPT",
        "GATEWAY_EVAL_MARGIN",
        "GATEWAY_REVIEW_REQUIRED",
        "SEARCH_EMBEDDINGS_URL",
        "SEARCH_EMBEDDINGS_KEY",
        "SEARCH_EMBEDDINGS_MODEL",
    ],
)
