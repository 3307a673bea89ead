"""Names that models send for the arguments of ops, whatever the catalog calls them.

They are only ever proposed in a corrected call, never applied to a call that runs. A word is in a set only if it means
the same as the others: a weaker or opposite word would damage what it changes.
"""

import re
from collections.abc import Collection, Iterable

from core.text.english import to_snake_case
from gateway.arguments.value_synonyms import ENTITY_WORDS

LABELS = ("title", "name", "text")  # the arguments that name a row, for people

# Names of arguments. If an op has several of a set, the first in this order is meant.
NAME_SETS: tuple[tuple[str, ...], ...] = (
    ("state_key", "state", "status", "stage", "phase", "current_state", "current_status"),
    ("title", "name", "label", "heading", "headline", "subject", "task", "event", "goal", "text", "caption"),
    (
        *("content", "text", "description", "details", "executive_summary", "body", "markdown", "body_markdown"),
        *("message", "info", "background", "desc", "explanation", "long_text", "full_text", "contents"),
    ),
    (
        *("details", "content", "description", "notes", "note", "comment", "comments", "memo", "log", "remarks"),
        *("working_notes", "remark", "annotation"),
    ),
    ("executive_summary", "description", "summary", "abstract", "tldr", "overview"),
    (
        *("due_at", "due_date", "due", "due_on", "due_by", "deadline", "target_date", "end_date", "end_at"),
        *("finish_by", "complete_by", "by", "due_time", "due_datetime", "expected_date", "target", "when"),
    ),
    (
        *("start_at", "start_date", "start", "at", "starts_at", "start_time", "start_on", "begin", "begins_at"),
        *(
            "begin_at",
            "starts",
            "from",
            "start_datetime",
            "scheduled_for",
            "scheduled_at",
            "when",
            "date",
            "datetime",
            "time",
        ),
    ),
    (
        *("end_at", "end_date", "end", "ends_at", "end_time", "end_on", "finish", "finishes_at", "ends"),
        *("until", "to", "end_datetime", "planned_end", "target_date", "due_date", "due_at"),
    ),
    (
        *("time_min", "due_after", "start_at", "from", "after", "since", "start", "start_date", "start_time"),
        *("begin", "range_start", "from_date", "date_from", "starts_after", "window_start", "earliest", "not_before"),
    ),
    (
        *("time_max", "due_before", "end_at", "to", "before", "until", "end", "end_date", "end_time"),
        *("range_end", "to_date", "date_to", "ends_before", "window_end", "latest", "not_after"),
    ),
    (
        *("query", "q", "search", "search_query", "search_term", "search_text", "keyword", "keywords", "term", "terms"),
        *("text", "phrase", "words", "question", "needle", "string", "search_string", "topic", "title", "name"),
    ),
    (
        *("limit", "max", "count", "page_size", "size", "top", "top_k", "n", "max_results", "per_page"),
        *("num_results", "number", "max_items", "take", "first", "results", "max_count"),
    ),
    ("cursor", "page_token", "next", "after", "next_page", "next_token", "continuation", "page_cursor"),
    ("priority", "importance", "urgency", "prio", "priority_level", "rank"),
    ("type_key", "type", "category", "kind", "template"),
    ("severity", "impact", "level", "risk_level"),
    ("probability", "likelihood", "chance"),
    (
        *("duration_minutes", "duration", "minutes", "length", "estimate", "estimated_minutes", "duration_min"),
        *("length_minutes", "effort", "estimated_time", "estimated_duration", "time_estimate", "minutes_needed"),
        *("effort_minutes", "estimate_minutes", "slot_minutes", "meeting_length", "time_needed"),
    ),
    ("recurrence", "repeat", "repeats", "frequency", "recurring", "rrule", "cadence", "recurs", "repeat_rule"),
    ("occurrence_start", "occurrence", "occurrence_at", "occurrence_date", "instance", "instance_start", "which_one"),
    ("recurrence_until", "repeat_until", "repeats_until", "recurrence_end", "until", "recurs_until", "end_date"),
    ("sort_by", "sort", "order", "order_by", "ordering", "sorting", "sort_order"),
    ("location", "place", "where", "venue", "room", "address"),
    ("attendees", "participants", "guests", "invitees", "people", "invite", "with", "attendee_emails"),
    ("tags", "labels", "tag", "label", "keywords", "topics"),
    ("props", "properties", "metadata", "attributes", "custom_fields", "extra", "data"),
    ("rel", "relation", "relationship", "type", "edge_type", "link_type", "relationship_type", "relation_type", "kind"),
    ("src_id", "source_id", "from_id", "from", "source", "src", "a_id", "entity_id", "start_id"),
    ("dst_id", "target_id", "to_id", "to", "target", "dst", "b_id", "destination_id", "other_id", "end_id"),
    ("src_kind", "source_kind", "from_kind", "source_type", "src_type", "from_type"),
    ("dst_kind", "target_kind", "to_kind", "target_type", "dst_type", "to_type", "destination_kind"),
    ("entity_kind", "entity_type", "kind", "type", "entity"),
    ("filter_kind", "filter", "only", "other_kind", "target_kind"),
    ("connections", "parents", "links", "edges"),
    ("update_strategy", "strategy", "mode", "merge_strategy", "update_mode"),
    ("parent_id", "parent_task_id", "new_parent_id", "parent", "parent_task", "folder", "folder_id", "under", "into"),
    ("heading", "section", "section_title", "title", "section_name", "header"),
    ("time_zone", "timezone", "tz", "zone"),
    ("url", "link", "uri", "page", "address", "href", "page_url", "website"),
    ("path", "op", "operation", "name", "help_path"),
    ("position", "index", "at", "order", "place", "new_position", "rank"),
    ("include_days_off", "include_weekends", "weekends", "allow_weekends"),
    ("preferred_hours", "between", "working_hours", "time_of_day", "preferred_times"),
    ("steps", "items", "tasks", "entities", "entries", "list"),
)

_TITLE_LIKE = ("content", "summary", "text", "body", "message", "note", "subject", "what", "item", "description")
_FILLERS = frozenset(("with", "include", "including", "max", "min", "show", "get", "the", "is", "has", "of", "all"))
_MEANINGLESS_SUFFIXES = ("_date", "_at", "_on", "_time", "_datetime", "_string", "_text", "_value", "_str", "_key")
_MEANINGLESS_PREFIXES = ("new_", "updated_", "the_", "my_", "set_")
_OWN_ID = frozenset(
    ("id", "uuid", "identifier", "ref", "key", "guid", "item", "item_id", "object_id", "row_id", "node_id", "record_id")
)
_PRESENT = ("source", "from", "current", "old", "src")  # where a row is now, not where it should go
_ID_ENDING = re.compile(r"_?(?:id|uuid|guid|ref|identifier|name|title)\Z")


def find_argument(name: str, arguments: Collection[str], *, entity: str, missing: Collection[str] = ()) -> str | None:
    """Return the argument that a name means, None if it means none of them or could mean several.

    If there are several, the one that is required and missing is meant.
    """
    spellings = _list_spellings(name, entity)
    for spelling in spellings:
        if spelling in arguments:
            return spelling
        if label := _find_label(spelling, arguments, entity=entity, missing=missing):
            return label
        if id_argument := _find_id_argument(spelling, arguments, entity=entity):
            return id_argument
        meant = {_find_first(names, arguments) for names in NAME_SETS if spelling in names} - {None}
        needed = meant & set(missing)
        if len(meant) == 1 or len(needed) == 1:
            return (needed or meant).pop()
    return _find_same_words(spellings[0], arguments)


def _find_label(spelling: str, arguments: Collection[str], *, entity: str, missing: Collection[str]) -> str | None:
    """Return the argument that names a row, for the entity's own word (task: "Buy milk") or a short text."""
    own_words = (entity, *ENTITY_WORDS.get(entity, ()))
    if spelling.removesuffix("_name").removesuffix("_title") in own_words:
        is_title = spelling not in own_words or f"{entity}_id" not in arguments
        return _find_first(LABELS, arguments) if is_title else None
    return _find_first(LABELS, missing) if spelling in _TITLE_LIKE else None


def _find_same_words(spelling: str, arguments: Collection[str]) -> str | None:
    """Return the one argument with the same words but for fillers: with_subtasks means include_subtasks."""
    words = _get_content_words(spelling)
    matches = [each for each in arguments if words and _get_content_words(each) == words]
    return matches[0] if len(matches) == 1 else None


def _get_content_words(name: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in name.split("_") if word not in _FILLERS)


def _find_first(names: Iterable[str], arguments: Collection[str]) -> str | None:
    return next((name for name in names if name in arguments), None)


def _find_id_argument(spelling: str, arguments: Collection[str], *, entity: str) -> str | None:
    """Return the id argument that a name means: `task` means `task_id`, and `id` that of the op's own entity."""
    if spelling in _OWN_ID or (entity == "entity" and spelling.endswith("_id")):
        spelling = entity
    words = _ID_ENDING.sub("", spelling).split("_")
    if words[0] in _PRESENT and f"expected_{'_'.join(words[1:])}_id" in arguments:
        return f"expected_{'_'.join(words[1:])}_id"
    for start in range(len(words)):
        stem = _find_entity("_".join(words[start:]), arguments)
        if f"{stem}_id" in arguments:
            return f"{stem}_id"
        longer = [name for name in arguments if name.endswith(f"_{stem}_id")]
        if len(longer) == 1:
            return longer[0]
    return None


def _find_entity(word: str, arguments: Collection[str]) -> str:
    """Return the entity that a word means, if there is an argument for its id; else the word."""
    meant = [entity for entity, words in ENTITY_WORDS.items() if word in words and f"{entity}_id" in arguments]
    return meant[0] if len(meant) == 1 else word


def _list_spellings(name: str, entity: str) -> list[str]:
    """Return a name in snake_case, and without prefixes that add nothing, such as the entity's name."""
    spelling = to_snake_case(name[:100])
    prefixes = (*_MEANINGLESS_PREFIXES, f"{entity}_") if entity else _MEANINGLESS_PREFIXES
    shorter = [spelling.removeprefix(prefix) for prefix in prefixes if spelling.startswith(prefix)]
    shorter += [spelling.removesuffix(suffix) for suffix in _MEANINGLESS_SUFFIXES if spelling.endswith(suffix)]
    return [spelling, *filter(None, shorter)]
