"""Words that models send for the names and values of arguments, whatever the catalog calls them.

They are only ever proposed in a corrected call, never applied to a call that runs. A word stands in a set only if it
means the same as the others: a weaker or opposite word would damage what it changes.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from core.suggestions import to_snake_case

LABELS = ("title", "name", "text")  # the arguments that name a row, for people

# Names that say to add a text to those that are there, and first words of such names.
_ADDING_NAMES = frozenset(
    (
        *("note", "notes", "comment", "comments", "remark", "remarks", "annotation", "log", "memo"),
        *("working_notes", "message", "info", "background", "explanation"),
    )
)

_ADDING_WORDS = frozenset(("add", "append", "additional", "extra"))

LONG_TEXTS = frozenset(("description", "details", "content", "context", "plan", "executive_summary"))

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
_INCLUSION = "include_"  # begins the name of what an answer has beside its rows

# Names of a time that say which occurrence to delete.
TIMES_OF_AN_OCCURRENCE = frozenset(
    (
        *("start_at", "start", "start_date", "start_time", "starts_at", "date", "day", "on", "when", "at", "time"),
        *("datetime", "date_time", "due_at", "due_date", "due", "occurrence", "occurrence_date", "instance"),
        *("occurrence_at", "instance_start", "original_start", "original_start_time"),
    )
)

# Values. The sets say what a word means, the schema says which words of a set it takes.
VALUE_SETS: tuple[tuple[str, ...], ...] = (
    (
        *("done", "completed", "complete", "finished", "reached", "met", "closed", "resolved", "achieved", "fulfilled"),
        *("accomplished", "ready_and_done", "all_done", "ticked_off", "checked_off", "delivered", "shipped", "finish"),
        "close",
    ),
    (
        *("in_progress", "active", "doing", "wip", "work_in_progress", "started", "ongoing", "underway", "under_way"),
        *("resume", "resumed", "unpause", "continue", "activate", "reactivate", "restart", "current", "running"),
        *("working_on_it", "inprogress", "begun", "executing", "live", "in_work", "start"),
    ),
    (
        *("todo", "to_do", "open", "pending", "new", "not_started", "backlog", "planned", "planning", "upcoming"),
        *("unstarted", "queued", "not_done", "not_yet_started", "reopened", "reopen", "draft"),
    ),
    (
        *("blocked", "stuck", "waiting", "impeded", "waiting_for", "on_hold", "held_up", "waiting_on", "stalled"),
        *("block", "depends", "cannot_proceed"),
    ),
    ("paused", "on_hold", "hold", "suspended", "frozen", "parked", "pause", "put_on_hold", "onhold", "halted"),
    (
        *("cancelled", "canceled", "abandoned", "dropped", "aborted", "wont_do", "won_t_do", "wontfix", "discarded"),
        *("called_off", "cancel", "abandon", "given_up", "give_up", "stopped"),
    ),
    ("archived", "archive"),
    ("draft", "drafting", "rough", "unfinished_draft"),
    ("review", "in_review", "under_review", "reviewing", "for_review", "needs_review", "ready_for_review"),
    ("published", "public", "released", "final", "publish"),
    ("missed", "overdue", "late", "slipped"),
    ("identified", "open", "new", "raised", "spotted"),
    ("mitigated", "handled", "addressed", "under_control", "reduced"),
    ("occurred", "happened", "materialized", "materialised", "realized"),
    (
        *("critical", "urgent", "highest", "very_high", "severe", "extreme", "asap", "immediate", "immediately"),
        *("blocker", "emergency", "top", "top_priority", "p0", "must", "must_have", "catastrophic"),
    ),
    ("high", "important", "major", "significant", "large", "elevated", "considerable", "likely", "probable"),
    ("medium", "normal", "moderate", "average", "mid", "standard", "middle", "regular", "med", "possible"),
    ("low", "minor", "small", "trivial", "unlikely", "nice_to_have", "unimportant", "whenever", "not_urgent"),
    ("lowest", "very_low", "negligible", "someday", "rare"),
    ("daily", "every_day", "each_day", "day", "everyday"),
    ("weekdays", "every_weekday", "workdays", "business_days", "working_days", "each_weekday", "monday_to_friday"),
    ("weekly", "every_week", "each_week", "week", "once_a_week"),
    ("biweekly", "every_two_weeks", "every_2_weeks", "fortnightly", "every_other_week", "bi_weekly"),
    ("monthly", "every_month", "each_month", "month", "once_a_month"),
    ("yearly", "every_year", "annually", "annual", "year", "once_a_year"),
    ("append", "add", "add_to_end", "extend", "append_to_end"),
    ("prepend", "add_to_start", "insert_at_start", "prefix"),
    ("replace", "overwrite", "set", "rewrite"),
    ("merge_llm", "merge", "combine", "integrate"),
    ("depends_on", "blocked_by", "requires", "needs", "waits_for", "is_blocked_by", "after"),
    ("blocks", "precedes", "is_required_by", "before"),
    ("relates_to", "related_to", "related", "relates", "linked_to", "references", "associated_with"),
    ("updated", "updated_at", "last_updated", "recent", "newest", "recently_updated", "modified"),
    ("created_at", "created", "creation_date", "date_created"),
    ("due_at", "due", "due_date", "deadline"),
    ("start_at", "start", "start_date", "date"),
    ("this", "this_one", "single", "one", "only_this", "this_event", "only_this_one", "instance", "occurrence"),
    ("following", "this_and_following", "future", "this_and_future", "from_here", "this_and_later", "later"),
    ("all", "series", "entire_series", "whole_series", "everything", "all_events", "every"),
    ("outgoing", "outbound", "out", "from", "downstream"),
    ("incoming", "inbound", "in", "to", "upstream"),
    ("user", "personal", "mine", "own", "private", "my_calendar", "primary", "me"),
    ("priority", "urgency", "importance"),
    ("name", "display_name", "full_name"),
    ("time_zone", "timezone", "tz"),
)

# What a filter by state asks for: every state that is not final, or every final one.
_OPEN_WORDS = frozenset(
    (
        *("open", "unfinished", "not_finished", "not_done", "undone", "incomplete", "uncompleted", "not_completed"),
        *("unresolved", "outstanding", "remaining", "pending", "active", "current", "live", "to_do", "ongoing"),
        *("not_closed", "unclosed"),
    )
)
_CLOSED_WORDS = frozenset(("closed", "inactive", "not_active", "not_open", "over", "ended"))
_FINAL_STATES = frozenset(
    (
        *("done", "completed", "achieved", "cancelled", "abandoned", "missed", "closed", "mitigated", "published"),
        "archived",
    )
)

# What an argument says about another row of the same kind.
_WORDS_BY_RELATION = {
    "depends_on": (
        "depends depends_on dependency dependencies dependent_on prerequisite prerequisites requires after comes_after"
        " predecessor predecessors blocked_by blocker blockers wait_for waits_for waiting_for waiting_on"
    ),
    "blocks": "blocks block blocking before comes_before successor successors dependent dependents",
}
RELATION_BY_WORD = {word: relation for relation, words in _WORDS_BY_RELATION.items() for word in words.split()}

# What models call an entity of the catalog, by its name there.
ENTITY_WORDS: Mapping[str, tuple[str, ...]] = {
    "task": ("todo", "to_do", "action_item", "subtask", "ticket", "action", "work_item", "reminder", "issue", "card"),
    "document": ("doc", "note", "page", "file", "wiki", "memo", "folder"),
    "event": ("meeting", "appointment", "calendar", "calendar_event", "booking", "cal", "invite"),
    "project": ("workspace", "initiative"),
    "goal": ("objective", "outcome", "target", "okr"),
    "milestone": ("checkpoint",),
    "plan": ("phase", "workstream"),
    "risk": ("threat", "concern"),
    "requirement": ("spec", "need", "criterion"),
    "edge": ("link", "relation", "relationship", "connection"),
}

# What a request asks for, by the verb in a name that no op has. The first is the action that ops have.
ACTION_SETS: tuple[tuple[str, ...], ...] = (
    ("create", "add", "new", "insert", "make", "write", "post", "put", "save", "open_new", "start_new", "log", "draft"),
    (
        *("update", "edit", "modify", "change", "set", "rename", "patch", "mark", "adjust", "alter", "append"),
        *("transition", "set_status", "assign", "prioritize", "prioritise", "postpone", "reschedule", "write_to"),
        *("revise", "toggle", "extend"),
    ),
    ("get", "show", "fetch", "read", "view", "details", "info", "retrieve", "describe", "open", "load", "lookup"),
    ("list", "all", "index", "browse", "overview", "list_all", "get_all", "items"),
    ("search", "find", "query", "lookup", "filter", "locate", "find_all"),
    ("delete", "remove", "destroy", "drop", "erase", "trash", "discard"),
    ("move", "transfer", "reassign", "relocate", "move_to"),
    ("link", "connect", "relate", "attach", "add_dependency", "depend", "associate", "join"),
    ("unlink", "disconnect", "detach", "unrelate", "remove_link"),
    ("schedule", "plan", "book", "timebox", "time_block", "block_time"),
)

_TITLE_LIKE = ("content", "summary", "text", "body", "message", "note", "subject", "what", "item", "description")
_FILLERS = frozenset(("with", "include", "including", "max", "min", "show", "get", "the", "is", "has", "of", "all"))
_MEANINGLESS_SUFFIXES = ("_date", "_at", "_on", "_time", "_datetime", "_string", "_text", "_value", "_str", "_key")
_MEANINGLESS_PREFIXES = ("new_", "updated_", "the_", "my_", "set_")
_OWN_ID = frozenset(
    ("id", "uuid", "identifier", "ref", "key", "guid", "item", "item_id", "object_id", "row_id", "node_id", "record_id")
)
_PRESENT = ("source", "from", "current", "old", "src")  # where a row is now, as against where it shall go
_ID_ENDING = re.compile(r"_?(?:id|uuid|guid|ref|identifier|name|title)\Z")
_LEADING_LEVEL = re.compile(r"(?:p|prio|priority|level|sev)?[ _-]?([0-9])(?:\b|_).{0,30}")


def find_argument(name: str, arguments: Collection[str], *, entity: str, missing: Collection[str] = ()) -> str | None:
    """Return the argument that a name means, None if it means none of them or could mean several.

    Of several, the one that is required and missing is meant.
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


def find_option(value: str, options: Mapping[str, Any]) -> Any:
    """Return what a value means among {word: value}, None if it means nothing there or could mean several."""
    word = to_snake_case(value[:100])
    by_spelling = {to_snake_case(option): meant for option, meant in options.items()}
    if word in by_spelling:
        return by_spelling[word]
    if (single := word.removesuffix("s")) in by_spelling:
        return by_spelling[single]
    meanings = {by_spelling[each] for words in VALUE_SETS if word in words for each in words if each in by_spelling}
    meanings |= {by_spelling[each] for each, words in ENTITY_WORDS.items() if single in words and each in by_spelling}
    return meanings.pop() if len(meanings) == 1 else None


def find_states(word: Any, states: Collection[str]) -> list[str]:
    """Return the states that a word such as open or closed asks for in a filter; none if it is no such word."""
    snake_word = to_snake_case(word[:100]) if isinstance(word, str) else ""
    if snake_word in states or snake_word not in _OPEN_WORDS | _CLOSED_WORDS:
        return []
    return [state for state in states if (state in _FINAL_STATES) == (snake_word in _CLOSED_WORDS)]


def find_added_text(name: str, arguments: Collection[str], *, entity: str) -> str | None:
    """Return the text to which a name such as progress_note or append_text says to add; None if it says nothing."""
    if not is_adding(name):
        return None
    text = find_argument(to_snake_case(name[:100]).rpartition("_")[2], arguments, entity=entity)
    return text if text in LONG_TEXTS else None


def is_adding(name: str) -> bool:
    """Return whether the name of a text says to add it to the text that is there."""
    word = to_snake_case(name[:100])
    first, _, _ = word.partition("_")
    return word in _ADDING_NAMES or word.rpartition("_")[2] in _ADDING_NAMES or first in _ADDING_WORDS


def is_about_answer(name: str, *, is_write: bool) -> bool:
    """Return whether the name of an argument says what to answer, as against what to do and with which rows."""
    word = to_snake_case(name[:100])
    if is_write:
        return word in _FORM_NAMES  # a write with a limit or include_subtasks would do less without them, or more
    if word in _FORM_NAMES | _PAGE_NAMES | OFFSET_NAMES:
        return True
    included = word.removeprefix(_INCLUSION)
    # include_done is a filter by state.
    return included not in {word, "deleted", *_FINAL_STATES, *_OPEN_WORDS, *_CLOSED_WORDS}


def find_action(verb: str) -> str | None:
    """Return the action of ops that a verb asks for."""
    return next((words[0] for words in ACTION_SETS if verb in words), None)


def is_cancelling(verb: str) -> bool:
    """Return whether a verb calls something off."""
    return verb in ("cancel", "call_off", "cancelled", "canceled")


def read_level(value: str) -> int | None:
    """Return the number of a level such as "P1", "2 - high" or "priority 3"."""
    found = _LEADING_LEVEL.fullmatch(value.strip().lower())
    return int(found[1]) if found else None


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
