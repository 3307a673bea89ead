"""The meaning of a name that no argument has: a field of another system, a text to add, or what to answer."""

from collections.abc import Collection

from core.text.english import to_snake_case
from gateway.arguments import name_synonyms
from gateway.arguments.value_synonyms import CLOSED_WORDS, FINAL_STATES, OPEN_WORDS

# Names that say to add a text to those that are there, and first words of such names.
_ADDING_NAMES = frozenset(
    (
        *("note", "notes", "comment", "comments", "remark", "remarks", "annotation", "log", "memo"),
        *("working_notes", "message", "info", "background", "explanation"),
    )
)

_ADDING_WORDS = frozenset(("add", "append", "additional", "extra"))

LONG_TEXTS = frozenset(("description", "details", "content", "context", "plan", "executive_summary"))

# Fields of other systems that rows may lack, and the texts to note their values in.
ABSENT_FIELDS = frozenset(
    (
        *("assignee", "assigned_to", "assignees", "assignee_id", "assign_to", "owner", "owner_id", "responsible"),
        *("progress", "percent_complete", "percentage", "completion", "completion_percentage", "percent_done"),
        *("percent", "progress_percent", "estimate_points", "story_points"),
    )
)
NOTE_FIELDS = ("details", "description", "content", "executive_summary")

# Names that say which fields an answer has and in which form: without them, a call does the same.
_FORM_NAMES = frozenset(
    (
        *("fields", "select", "columns", "attributes", "return_fields", "output_fields", "response_fields"),
        *("format", "output_format", "response_format", "verbose", "verbosity", "detail_level", "max_chars"),
    )
)
# Names that say in which order a list is, and how much of it to return.
_PAGE_NAMES = frozenset(
    (
        *("limit", "max", "count", "page_size", "per_page", "top_k", "max_results", "num_results", "max_items"),
        *("cursor", "page_token", "next_page", "next_token", "next_cursor"),
        *("sort", "sort_by", "sort_order", "sort_direction", "sorting", "order", "order_by", "ordering", "direction"),
    )
)
# Names that say where in a list to begin. Without them, a call returns other rows.
OFFSET_NAMES = frozenset(("offset", "page", "page_number", "skip", "start_index"))
_INCLUSION = "include_"  # begins the name of what an answer has besides its rows

# Names of a time that say which occurrence to delete.
TIMES_OF_AN_OCCURRENCE = frozenset(
    (
        *("start_at", "start", "start_date", "start_time", "starts_at", "date", "day", "on", "when", "at", "time"),
        *("datetime", "date_time", "due_at", "due_date", "due", "occurrence", "occurrence_date", "instance"),
        *("occurrence_at", "instance_start", "original_start", "original_start_time"),
    )
)


def find_added_text(name: str, arguments: Collection[str], *, entity: str) -> str | None:
    """Return the text to which a name such as progress_note or append_text says to add; None if it says nothing."""
    if not is_adding(name):
        return None
    text = name_synonyms.find_argument(to_snake_case(name[:100]).rpartition("_")[2], arguments, entity=entity)
    return text if text in LONG_TEXTS else None


def is_adding(name: str) -> bool:
    """Return whether the name of a text says to add it to the text that is there."""
    word = to_snake_case(name[:100])
    first, _, _ = word.partition("_")
    return word in _ADDING_NAMES or word.rpartition("_")[2] in _ADDING_NAMES or first in _ADDING_WORDS


def is_about_answer(name: str, *, is_write: bool) -> bool:
    """Return whether the name of an argument says what to answer, rather than what to do and with which rows."""
    word = to_snake_case(name[:100])
    if is_write:
        return word in _FORM_NAMES  # a write with a limit or include_subtasks would do less without them, or more
    if word in _FORM_NAMES | _PAGE_NAMES | OFFSET_NAMES:
        return True
    included = word.removeprefix(_INCLUSION)
    # include_done is a filter by state.
    return included not in {word, "deleted", *FINAL_STATES, *OPEN_WORDS, *CLOSED_WORDS}
