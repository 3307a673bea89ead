"""What the section Releases of the console declares: its pages and its tabs."""

from core.manifest import Manifest, ModelList, PageLink, SectionTab

SEE_COPY = [f"registry.view_{model}" for model in ("op", "group", "promptsection", "agent", "pin", "vocabulary")]

MANIFEST = Manifest(
    tabs=[
        SectionTab(
            section="Releases",
            place=1,
            guide="admin-guide#review-and-publish",
            pages=[
                PageLink(
                    "Review and publish", "registry_release_review", SEE_COPY, keywords=["draft", "unpublished changes"]
                ),
                ModelList("Reviews", "registry.ReviewRequest"),
                ModelList("Scheduled", "registry.ScheduledPublish"),
            ],
            name="Draft",
        ),
        SectionTab(
            section="Releases",
            place=2,
            guide="admin-guide#undo-a-release",
            pages=[
                ModelList("Releases", "registry.Release", keywords=["roll back", "rollback", "undo a release"]),
                ModelList("Release history", "registry.Activation"),
            ],
        ),
    ],
)
