"""What the section Activity of the console declares: its pages and its tabs."""

from console.activity.events import find_event
from core.manifest import Manifest, ModelList, SectionTab

MANIFEST = Manifest(
    go_to_sources=[find_event],
    tabs=[
        SectionTab(
            section="Activity",
            place=1,
            guide="reference/events",
            pages=[
                ModelList("Turns", "analytics.Turn", keywords=["conversations", "tokens per turn"]),
                ModelList("Tool selections", "analytics.ToolSelection"),
                ModelList("Feedback", "analytics.Feedback"),
            ],
        ),
        SectionTab(
            "Activity",
            2,
            "reference/events",
            [
                ModelList(
                    "Events", "analytics.OperationEvent", keywords=["calls", "errors", "failed calls", "latency"]
                ),
                ModelList("Stored contents", "analytics.StoredContents", keywords=["retention", "redaction"]),
            ],
        ),
    ],
)
