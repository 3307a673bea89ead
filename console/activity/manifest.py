"""What the section Activity of the console declares: its pages and its entries in the sidebar."""

from core.manifest import Manifest, ModelList, SidebarEntry

MANIFEST = Manifest(
    entries=[
        SidebarEntry(
            "Activity",
            1,
            "bolt",
            "reference/events",
            [ModelList("Events", "analytics.OperationEvent"), ModelList("Stored contents", "analytics.StoredContents")],
        ),
        SidebarEntry(
            section="Activity",
            place=2,
            icon="forum",
            guide="reference/events",
            pages=[ModelList("Turns", "analytics.Turn"), ModelList("Tool selections", "analytics.ToolSelection")],
        ),
    ],
)
