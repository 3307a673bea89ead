"""The table of event fields: what each field of an operation event means, and where it is shown.

The API, the OpenAPI document, the console and docs/reference/events.md are built from it. A new field needs a line in
the model, a line here and a migration.
"""

from dataclasses import dataclass
from enum import StrEnum


class EventSection(StrEnum):
    """A section of an event's page, in the order of the page."""

    REQUEST = "Request"
    RESPONSE = "Response"
    CALLER = "Caller"
    ROLLOUT = "Rollout"
    FIGURES = "Figures"


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A place on an event's page. Fields on the same line of a section stand side by side."""

    section: EventSection
    line: int
    display: str = ""  # the page's method that shows the field, if it is not shown as it is


@dataclass(frozen=True, slots=True)
class EventField:
    """A field of an event. An empty `places` hides it on the event's page."""

    name: str
    description: str
    places: tuple[PagePlace, ...] = ()
    in_api: bool = True
    in_list: bool = False  # a column of the list of events in the console
    list_display: str = ""  # the list's method that shows the field, if it is not shown as it is


def _request(line: int, display: str = "") -> PagePlace:
    return PagePlace(EventSection.REQUEST, line, display)


def _response(line: int, display: str = "") -> PagePlace:
    return PagePlace(EventSection.RESPONSE, line, display)


def _caller(line: int) -> PagePlace:
    return PagePlace(EventSection.CALLER, line)


def _rollout(line: int, display: str = "") -> PagePlace:
    return PagePlace(EventSection.ROLLOUT, line, display)


_FIGURES = PagePlace(EventSection.FIGURES, 1)

# In the order of the API.
EVENT_FIELDS = (
    EventField("id", "Id of the event."),
    EventField("time", "When the call arrived.", (_request(1),), in_list=True),
    EventField("type", "What was called.", (_request(1),), in_list=True),
    EventField("op", "The canonical op or path; as sent if unknown.", (_request(2),), in_list=True),
    EventField("tool_name", "The op's tool name. Empty for groups, searches and unknown names.", (_request(2),)),
    EventField("group", "The op's group.", (_request(3),)),
    EventField("entity", "The kind of entity that the op is about.", (_request(4),)),
    EventField("action", "What the op does with the entity.", (_request(4),)),
    EventField("entity_id", "Id of the entity that was read or written.", (_request(4),)),
    EventField(
        "changed_ids",
        "Ids of the entities that a write of many changed. Null for all other calls.",
        (_request(5, "show_changed_ids"),),
    ),
    EventField("kind", "Whether the op reads or writes.", (_request(3),)),
    EventField("format", "How much help was read: list, short, full, or arg for one argument.", (_request(3),)),
    EventField("dry_run", "Whether the call was a dry run.", (_request(5, "show_dry_run"),)),
    EventField("digest", "Identical for identical calls within a turn.", (_request(5),), in_api=False),
    EventField("ok", "Whether the call succeeded.", (_response(1),)),
    EventField("status", "HTTP status code.", (_response(1),)),
    EventField("code", "Error code. Empty if the call succeeded.", (_response(2),)),
    EventField("reason", "The case within the error code.", (_response(2),)),
    EventField(
        "field_errors",
        "[JSON Pointer, code] of each field error; never a value.",
        (_response(3, "show_field_errors"),),
        list_display="outcome",
    ),
    EventField(
        "replayed", "Whether the stored answer to an earlier call was sent again.", (_response(4, "show_replayed"),)
    ),
    EventField(
        "unchanged",
        "Whether a write succeeded but changed nothing.",
        (_response(4, "show_unchanged"),),
    ),
    EventField("result_count", "Items in the result of a search, a group or a list op.", (_FIGURES,)),
    EventField("latency_ms", "Duration of the call in milliseconds.", (_FIGURES,), list_display="show_latency"),
    EventField("release", "The release that served the call.", (_rollout(1, "show_release"),)),
    EventField("surface", "The surface that the model was shown.", (_rollout(2),)),
    EventField("cohort", "Cohorts that decided, in the order of their flags.", (_rollout(2),)),
    EventField("model", "The model's family.", (_rollout(2),)),
    EventField("source", "How the call was made.", (_request(1),)),
    EventField("client", "The client's name.", (_caller(1),), in_api=False, list_display="show_client"),
    EventField("key", "The key's prefix.", (_caller(1),), in_api=False),
    EventField("subject", "The end user's id.", (_caller(2),), in_list=True),
    EventField("agent", "The agent as which the call ran.", (_caller(2),)),
    EventField("session", "Conversation id.", (_caller(3),)),
    EventField("turn", "Turn id.", (_caller(3),)),
    EventField("trace_id", "Id of the request, as in its logs and its response.", (_caller(4),)),
    EventField("repairs", "Id of the earlier failed call in the turn that this call repaired.", (_response(4),)),
    EventField(
        "content",
        "Args and result as {args, result}, if *Stored contents* keeps them. Secrets and private texts are redacted. "
        "For a search: its words and the paths found.",
    ),
    EventField(
        "progress",
        "Progress that the upstream reported: {done, total} in its own units, or null if it reported none.",
        (PagePlace(EventSection.FIGURES, 1, "show_progress"),),
    ),
    EventField(
        "purpose",
        "`context` if the client made the call for itself, such as a chat that loads what its page shows. No figure "
        "counts it. Empty for a model's call.",
        (_caller(4),),
    ),
    EventField(
        "data_flow",
        "Mode and rule of data flow that held for the call. Empty if none held.",
        (_response(5),),
    ),
)
