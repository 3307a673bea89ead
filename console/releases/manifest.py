"""What the section Releases of the console declares: its pages and its entries in the sidebar."""

from core.manifest import Manifest, ModelList, PageLink, SidebarEntry

SEE_COPY = [f"registry.view_{model}" for model in ("op", "group", "promptsection", "agent", "pin", "vocabulary")]

MANIFEST = Manifest(
    entries=[
        SidebarEntry(
            section="Releases",
            place=1,
            icon="rate_review",
            guide="admin-guide#review-and-publish",
            pages=[
                PageLink("Review and publish", "registry_release_review", SEE_COPY),
                ModelList("Reviews", "registry.ReviewRequest"),
                ModelList("Scheduled", "registry.ScheduledPublish"),
            ],
        ),
        SidebarEntry(
            section="Releases",
            place=3,
            icon="inventory_2",
            guide="admin-guide#undo-a-release",
            pages=[ModelList("Releases", "registry.Release"), ModelList("Release history", "registry.Activation")],
        ),
    ],
)
