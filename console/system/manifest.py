"""What the section System of the console declares: its pages and its tabs."""

from console.system import guides
from core.admin import page_parts
from core.manifest import AdminPage, Manifest, ModelList

MANIFEST = Manifest(
    pages=[
        AdminPage(page_parts.SYSTEM_PAGE, "system/", page_parts.render_index_page),
        AdminPage(page_parts.GUIDES_PAGE, "guides/", page_parts.render_index_page),
        AdminPage("guide", "guides/<path:name>/", guides.show_guide),
    ],
    go_to_sources=[guides.find_sections],
    system_lists={
        "Calls": [
            ModelList("Batches", "gateway.Batch", "calls of tool_batch, with their state"),
            ModelList("Batch entries", "gateway.BatchEntry", "the single calls of batches"),
            ModelList(
                "Idempotency records", "gateway.IdempotencyRecord", "writes whose answer is repeated, not run again"
            ),
            ModelList("Used confirmations", "gateway.UsedConfirmation", "confirmed calls, each of which runs once"),
            ModelList("Turn labels", "gateway.TurnLabel", "what calls brought into their turn, for data flow"),
            ModelList("Pending input", "gateway.PendingInput", "questions of services to end users"),
            ModelList("Stored files", "gateway.StoredFile", "files that ops returned or take"),
        ],
        "Figures and jobs": [
            ModelList("Daily figures", "analytics.OpDaily", "the sums behind the reports, by op and day"),
            ModelList("Lost events", "analytics.EventLoss", "events that could not be written"),
            ModelList("Rollups", "analytics.Rollup", "progress of the daily totals"),
            ModelList("Saved views", "analytics.SavedView", "filters that people saved on reports and lists"),
            ModelList(
                "Notifications", "notifications.Notification", "e-mails and webhook calls, and why some were not sent"
            ),
            ModelList("Periodic jobs", "gateway.PeriodicJob", "when each job runs next"),
            ModelList("Op embeddings", "registry.OpEmbedding", "vectors of texts, for search by meaning"),
        ],
    },
)
