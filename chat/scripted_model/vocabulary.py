"""The words that the rules of the demo model know: verbs, nouns, states, and words without meaning for a search.

They are part of the model, as a real model knows words by itself: it knows the gateway only over HTTP.
"""

import re

from core.text.english import STOP_WORDS

_POLITE = (
    r"^(?:and |ok,? |then )?(?:please |can you |could you |would you |i want to |i would like to |let's )?(?:please )?"
)
_NEEDED = (
    r"^(?:i|we) (?:need|want) an? (?:new )?(?:project|task|note|document|goal|plan|milestone|risk|event|meeting)\b"
)

# The first pattern that matches decides, so the special ones come first.
_ACTIONS = (
    (
        "introduce",
        r"^(hello|hi|hey|help|good (morning|afternoon|evening))[.!?]*$|what can you do|who are you",
    ),
    ("thank", r"^(thanks|thank you|thx|great|perfect|nice|cool)( a lot| so much| very much)?[.! ]*$"),
    (
        "refuse_many",
        rf"{_POLITE}(delete|remove|mark|set|move|change|update|finish|complete|close|rename|schedule|postpone) "
        r"(all|every|everything|both)\b",
    ),
    (
        "refuse",
        rf"{_POLITE}((add|create) (a |another )?subtasks?|link|connect|append|attach|comment)\b"
        rf"|{_POLITE}(undo|revert|restore|assign|remind|e-?mail|mail|send|invite|translate)\b",
    ),
    (
        "free_time",
        r"\bfree (time|slot|hour|hours|half|minutes|afternoon|morning)|\b(am i|when.* i) free\b|\bavailab"
        r"|\bhave (any |some )?time\b",
    ),
    ("delete", rf"{_POLITE}(delete|remove|get rid of|throw away|drop)\b"),
    (
        "schedule",
        rf"{_POLITE}(schedule|block|plan in|book|reserve|make time for)\b|{_POLITE}put\b.*\b(calendar|diary)\b",
    ),
    (
        "create",
        rf"{_POLITE}(create|add|make (?=an?\b|another\b|new\b)|start a|new|write|record|note)\b|{_NEEDED}",
    ),
    (
        "update",
        rf"{_POLITE}(mark|set|rename|change|update|move|finish|complete|close|reopen|postpone|edit|make|start|begin)\b",
    ),
    (
        "details",
        r"\b(tell me (more )?about|more about|details?\b|describe|look at|open the|what about|show me more)"
        r"|\bsummari[sz]e\b|\b(summary|overview|status|progress) of\b|\bhow (is|are) .*\b(going|doing)\b"
        r"|\bwhen (is|are) (it|this|that)\b",
    ),
    ("list", r"\b(list|show|find|search|look for|what|which|how many|any|give me|do i have|overdue|due|where)\b"),
)
_KINDS = (
    ("task", r"tasks?|to-?dos?|action items?"),
    ("milestone", r"milestones?"),
    ("document", r"documents?|docs?|notes?|brain dumps?"),
    ("goal", r"goals?"),
    ("risk", r"risks?|go wrong"),
    ("requirement", r"requirements?"),
    ("event", r"events?|meetings?|appointments?|calendar"),
    ("plan", r"plans?|phases?"),
    ("project", r"projects?"),
)
_STATES = (
    ("done", r"\b(done|finish(ed)?|complete(d)?|close(d)?|achieved)\b"),
    ("in_progress", rf"\b(in[ _-]progress|started|being worked on)\b|{_POLITE}(start|begin)\b(?! an?\b)"),
    ("blocked", r"\bblocked\b"),
    ("todo", r"(?<!have )(?<!need )\b(to do|todo|reopen(ed)?|not started)\b"),
)
ACTION_PATTERNS = {name: re.compile(pattern) for name, pattern in _ACTIONS}
KIND_PATTERNS = {name: re.compile(rf"\b(?:{pattern})\b") for name, pattern in _KINDS}
STATE_PATTERNS = {name: re.compile(pattern) for name, pattern in _STATES}
OPEN = re.compile(r"\b(open|left|unfinished)\b")
WHEN = re.compile(r"\bwhen (is|are)\b")
DUE = re.compile(r"\b(due|overdue)\b")
# Questions about open work, without a word for tasks.
TO_DO = re.compile(
    r"\b(on my plate|what (should|must|can) i do|(have|need) to do|what next|do i have (today|tomorrow|on))\b"
)
# Questions that compare rows, and those about the rows that were shown.
MOST = re.compile(r"\b(most (urgent|important)|urgent|(due|to do|do|comes?) (first|next)|soonest|biggest|worst)\b")
THESE = re.compile(r"\b(these|those|them|which one|of the (two|three|tasks|list))\b")
# Without a kind of row, only these search for words; other questions are about something else.
SEARCH = re.compile(r"\b(list|show|find|search|look for|give me|where|about|know|mention\w*)\b")
PRIORITY = re.compile(
    r"\bpriority (?:to |of )?([1-5])\b|\b(urgent|high|medium|low)[- ]priority\b"
    r"|\bpriority\b.{0,80}?\b(?:to |as )?(urgent|high|medium|low|[1-5])\b"
)
PRIORITY_BY_WORD = {"urgent": 1, "high": 2, "medium": 3, "low": 4} | {str(number): number for number in range(1, 6)}

# Words of requests that name no row, besides general ones.
_FILLER_WORDS = """
one ones many more list find search look open high low medium urgent priority overdue due blocked finished completed
started progress todo new create add make write delete remove rid mark set rename change update move finish complete
close reopen postpone edit until schedule block book reserve details detail describe called named today tomorrow week
next monday tuesday wednesday first second third last thursday friday saturday sunday time slot hour hours current
currently still left everything anything go wrong might most biggest worst top important main must instead now much
what's that's it's i'd put calendar diary start begin working work summarize summarise summary overview status going
another mention mentions mentioned
"""
FILLER_WORDS = STOP_WORDS.union(_FILLER_WORDS.split())
