"""Words that models send for values, entities and actions, whatever the catalog calls them.

They are only ever proposed in a corrected call, never applied to a call that runs. A word is in a set only if it means
the same as the others: a weaker or opposite word would damage what it changes.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from core.text.english import to_snake_case

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
        *("todo", "to_do", "open", "pending", "new", "not_started", "backlog", "planned", "upcoming", "unstarted"),
        *("queued", "not_done", "not_yet_started", "reopened", "reopen", "draft"),
    ),
    ("planning", "planned", "in_planning", "not_started", "not_yet_started", "upcoming"),
    (
        *("blocked", "stuck", "waiting", "impeded", "waiting_for", "on_hold", "held_up", "waiting_on", "stalled"),
        *("block", "depends", "cannot_proceed"),
    ),
    ("paused", "on_hold", "hold", "suspended", "frozen", "parked", "pause", "put_on_hold", "onhold", "halted"),
    (
        *("cancelled", "canceled", "abandoned", "dropped", "aborted", "wont_do", "won_t_do", "wontfix", "discarded"),
        *("called_off", "cancel", "abandon", "given_up", "give_up"),
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
OPEN_WORDS = frozenset(
    (
        *("open", "unfinished", "not_finished", "not_done", "undone", "incomplete", "uncompleted", "not_completed"),
        *("unresolved", "outstanding", "remaining", "pending", "active", "current", "live", "to_do", "ongoing"),
        *("not_closed", "unclosed"),
    )
)
CLOSED_WORDS = frozenset(("closed", "inactive", "not_active", "not_open", "over", "ended"))
FINAL_STATES = frozenset(
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

_LEADING_LEVEL = re.compile(r"(?:p|prio|priority|level|sev)?[ _-]?([0-9])(?:\b|_).{0,30}")


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
    """Return the states that a word such as open or closed asks for in a filter; none if it is not such a word."""
    snake_word = to_snake_case(word[:100]) if isinstance(word, str) else ""
    if snake_word in states or snake_word not in OPEN_WORDS | CLOSED_WORDS:
        return []
    return [state for state in states if (state in FINAL_STATES) == (snake_word in CLOSED_WORDS)]


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
