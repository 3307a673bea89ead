"""What speaks for each op in a conversation, as a score."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from core.text.english import STOP_WORDS
from gateway.access.request_context import UserContext
from gateway.toolset.conversation import ASSISTANT, ToolsetConversation
from gateway.toolset.selection import finders, request_words
from gateway.toolset.selection.candidates import (
    CREATE_PROJECT,
    ONLY_WHEN_ASKED,
    find_named_entities,
    get_category,
    get_focus,
    list_asked_categories,
)
from gateway.toolset.selection.message_intent import Intent
from gateway.toolset.selection.op_index import SelectionIndex
from gateway.toolset.selection.turn_intent import find_request, resolve_intent
from gateway.toolset.shown_ops import READ_ONLY_CONTEXTS, resolve_context
from gateway.toolset.shown_tools import ToolsetRequest
from registry import search
from registry.catalog.model import Catalog, CatalogOp
from registry.search import intent, tokenizer

MAX_CERTAIN = 3  # tools called lately that are always shown
MAX_RECENT = 8  # tools called lately that count, the newest first
MAX_FOUND_ENTITIES = 2  # kinds of rows that a search suggests
MAX_LAST_CALLS = 3  # of the turn before
MIN_SHARED_WORD = 4  # letters of a word by which a message refers to an answer
MAX_REPLIES = 2  # answers that it may refer to
MIN_ROW_NAME = 3  # characters of a name that is looked for in a message

# What speaks for an op. A search gives its best op 1.
NAMED_ENTITY = 0.8
FOUND_ENTITY = 0.3
HINTED_ENTITY = 0.5  # by a word that often goes with it: "write it down" with a document
RECENT_ENTITY = 0.7  # of a message that points to what was said before
RECENT_TOOL = 0.5
UNNAMED_WRITE = 0.7  # of these two, for a change of a row whose kind is not named
NEW_MESSAGE = 0.25  # of these two, for a message that stands alone
FOCUS = 0.6
RELATED_ENTITY = 0.3  # that a tool called lately returns, too: the documents of a task
EARLIER_ENTITY = 0.4  # named in the message before
FOLLOW_UP = 0.6  # of what a search finds for a message that points to what was said before
EARLIER = 0.5  # of what the message before asks for
UNNAMED_ENTITY = 0.4  # the likeliest kind of row, if a clause names none
MAIN_ENTITY = 0.3
LIKELY_ENTITY = 0.3  # the least score of a kind of row of which a wanted action counts
WANTED_ACTION = 0.7
OTHER_ACTION = -0.5
FINDS_ROWS = 0.35
FINDS_EVERYTHING = 0.9
GETS_ROW = 0.3
FINDER_OF_WRITE = 0.5  # of these two, for a message that only writes: one search finds what it needs
TOPIC = 1.0  # an action that a phrase of the message means
ASKED_CATEGORY = 1.2  # the web, or help about the product
ONLY_ACTION = 0.35  # another write, if the kind of row has none of those that are wanted
SPECIAL_ACTION = 0.35  # a write that is not just a create, update or delete
NAMED_SERVICE = 0.7
TOKEN_COST = 0.0003  # per token of the definition
CLOCK = 0.35  # an event, in a message with a time
OUTSIDE = -0.15  # not a tool of the context
OF_OTHER_SERVICE = -2.0  # of a service that is not named, if we have such rows ourselves

# The kinds of rows that messages of a context are nearly always about, the likeliest first.
_MAIN_ENTITIES = {
    "project": ("task", "project", "event"),
    "global": ("task", "project", "event"),
    "project_audit": ("task", "project"),
    "project_forecast": ("task", "milestone"),
}
_CALENDAR = "calendar"


class Evidence:
    """What speaks for each op, as a score by path."""

    def __init__(self, request: ToolsetRequest, candidates: Sequence[CatalogOp], catalog: Catalog) -> None:
        self.request, self._catalog = request, catalog
        self.index = catalog.get_or_derive(SelectionIndex, lambda: SelectionIndex(catalog))
        self._visible = catalog.view_for(request.visibility).ops
        self.recent = self._list_recent()
        self.asked = asked = resolve_intent(
            request.conversation, () if request.conversation.is_continued else self.recent
        )
        self.pool = {op.op for op in candidates}
        text = f"{request.message} {asked.translation}"
        self._words = request_words.join_words(text)
        self._named_rows = {
            row.entity for row in request.conversation.rows if row.entity and _names_row(request.message, row.name)
        }
        hinted = find_named_entities(asked.translation, catalog)
        self._hinted = hinted if asked.is_english else set()
        self.named = find_named_entities(asked.content, catalog) | (hinted - self._hinted) | self._named_rows
        self.refers_back = _shares_words(request.message, request.conversation)
        self.is_follow_up = bool(request.conversation.earlier or self.recent) and (
            asked.is_agreement or ((asked.is_follow_up or self.refers_back) and not self.named)
        )
        self._focus = get_focus(request.context)
        self.asked_categories = list_asked_categories(text, is_write=asked.intent == Intent.WRITE)
        self._has_general_search = bool(self.list_searches())
        self.services = self._find_named_services(text)
        before = find_request(request.conversation)
        self._earlier = before.search_text or before.content if before else ""
        self.scores: dict[str, float] = {}
        self.entity_scores: Mapping[str, float] = {}
        self._score_all(asked.search_text or request.message)
        paths = sorted(self.scores, key=lambda path: (-self.scores[path], path))
        self.ranked = [catalog.ops[path] for path in paths]  # the ops that the intent allows, the best first

    @property
    def known_entities(self) -> set[str]:
        """The kinds of rows whose ids the model knows, or gets from the context."""
        context = {"project"} if resolve_context(self.request.context.type) != "global" else set()
        return (context | self._named_rows | {self._focus}) - {""}

    def list_certain(self) -> list[CatalogOp]:
        """Return the ops that are shown whatever their score: those called lately, if the message continues that."""
        keeps_recent = self.is_follow_up or self.request.conversation.is_continued
        certain = self.recent[:MAX_CERTAIN] if keeps_recent else []
        is_creation = intent.CREATE in self.asked.actions and "project" in self.named
        if is_creation and CREATE_PROJECT in self._visible:
            certain = [self._catalog.ops[CREATE_PROJECT], *certain]
        return [op for op in certain if op.op in self.scores]

    def may_delete(self, op: CatalogOp) -> bool:
        """Whether a delete, if the op is one, is of a kind of row that the message means, if it names any."""
        if self.index.traits[op.op].action != intent.DELETE or op.is_of_service or not self.named:
            return True
        return op.entity in self.named or op.entity in {each.entity for each in self.recent}

    def list_searches(self) -> list[CatalogOp]:
        """Return the ops of the context that search rows of every kind: any row that a message names can be one."""
        ops = (self._catalog.ops[path] for path in sorted(self.pool & self._visible))
        searches = (op for op in ops if op.action == finders.SEARCH and not op.entity)
        return [op for op in searches if get_category(op) not in ONLY_WHEN_ASKED]

    def _list_recent(self) -> list[CatalogOp]:
        """Return the ops that the model called lately, the newest first."""
        names = dict.fromkeys(reversed(self.request.conversation.recent_tools))
        ops = (self._catalog.find_op(name) for name in names)
        return [op for op in ops if op is not None and op.op in self._visible][:MAX_RECENT]

    @property
    def has_changed(self) -> bool:
        """Whether the turn before changed something."""
        is_continued = self.request.conversation.is_continued
        return not is_continued and any(op.is_write for op in self.recent[:MAX_LAST_CALLS])

    def _find_named_services(self, text: str) -> set[str]:
        """Return the connections of services that the message names, or that were called lately."""
        words = {tokenizer.stem(word) for word in tokenizer.split_words(text)}
        named = {connection for connection, stems in self.index.services.items() if stems & words}
        return named | {op.connection for op in self.recent[:2] if op.is_of_service}

    def _score_all(self, text: str) -> None:
        asked, request = self.asked, self.request
        found = self._search(text)
        if self.is_follow_up:
            earlier = self._search(self._earlier) if self._earlier else {}
            found = defaultdict(float, {path: FOLLOW_UP * share for path, share in found.items()})
            for path, share in earlier.items():
                found[path] = max(found[path], EARLIER * share)
        entities = self.entity_scores = self._score_entities(found)
        self.topics = {topic for topic, pattern in request_words.load_topics().items() if pattern.search(self._words)}
        recent = {op.op: RECENT_TOOL * self.recent_weight for op in self.recent}
        allows_writes = asked.intent != Intent.READ and request.context.type not in READ_ONLY_CONTEXTS
        for path in self.index.narrow(found, self.named, self.services, recent) & self._visible:
            op = self._catalog.ops[path]
            if op.is_write and not (allows_writes and (path in self.pool or not self._is_narrow)):
                continue
            score = found[path] + entities[op.entity] + recent.get(path, 0) + self._score_kind(op)
            self.scores[path] = score + self._score_action(op)

    def _score_kind(self, op: CatalogOp) -> float:
        """Return what the topic, the category and the service of an op add, less what its definition costs."""
        traits = self.index.traits[op.op]
        score = -TOKEN_COST * traits.tokens
        if not self.topics.isdisjoint(traits.path_parts):
            score += TOPIC
        if traits.category in self.asked_categories:
            score += ASKED_CATEGORY
        if op.op not in self.pool:
            score += OUTSIDE
        if op.connection in self.services:
            score += NAMED_SERVICE
        elif op.is_of_service and op.entity in self.index.own_entities:
            score += OF_OTHER_SERVICE
        return score

    @property
    def recent_weight(self) -> float:
        """How much the tools called lately say. A turn that goes on after a decision keeps what it had."""
        if not self.recent:
            return 0
        if self.is_follow_up:
            return 1
        if self.asked.intent != Intent.READ and not self.named and not self.request.conversation.is_continued:
            return UNNAMED_WRITE
        return 0 if self.request.conversation.is_continued else NEW_MESSAGE

    @property
    def _is_narrow(self) -> bool:
        """Whether the context is one in which only its own tools change something."""
        return "global" != resolve_context(self.request.context.type) != "project"

    def _search(self, text: str) -> defaultdict[str, float]:
        """Return the share of each op that a search finds."""
        ranking = search.get_index(self._catalog).rank(text, use_endpoint=False)
        return defaultdict(float, ranking.shares)

    def _score_entities(self, found: dict[str, float]) -> defaultdict[str, float]:
        scores: defaultdict[str, float] = defaultdict(float)
        context = self.request.context.type
        main = get_main_entities(self.request.context)
        for at, entity in enumerate(main):
            scores[entity] += MAIN_ENTITY - 0.05 * at
        best = sorted(found, key=lambda path: -found[path])
        for entity in list(dict.fromkeys(self._catalog.ops[path].entity for path in best))[:MAX_FOUND_ENTITIES]:
            scores[entity] += FOUND_ENTITY
        for entity in self.named:
            scores[entity] += NAMED_ENTITY
        for entity in self._hinted:
            scores[entity] += HINTED_ENTITY
        names_all = self.named and all(find_named_entities(part, self._catalog) for part in self.asked.parts)
        texts = f"{self._words} {self._earlier.casefold()}" if self.is_follow_up else self._words
        has_clock = bool(request_words.load_shared()["clock"].search(texts))
        if main and not self.is_follow_up and not names_all:
            for entity in (main[0], *(("event",) if has_clock else ())):
                scores[entity] += UNNAMED_ENTITY
        for at, entity in enumerate(dict.fromkeys(op.entity for op in self.recent)):
            scores[entity] += RECENT_ENTITY * self.recent_weight / (at + 1)
        for op in self.recent[:MAX_LAST_CALLS]:
            for entity in find_named_entities(op.summary, self._catalog) - {op.entity}:
                scores[entity] += RELATED_ENTITY * self.recent_weight
        for entity in find_named_entities(self._earlier, self._catalog) if self.is_follow_up else ():
            scores[entity] += EARLIER_ENTITY
        if self._focus:
            scores[self._focus] += FOCUS
        if context == _CALENDAR:
            scores["event"] += FOCUS
        if has_clock:
            scores["event"] += CLOCK
        scores[""] = 0
        return scores

    def _score_action(self, op: CatalogOp) -> float:
        traits = self.index.traits[op.op]
        if not op.is_write:
            if traits.category in ONLY_WHEN_ASKED or op.action not in (*finders.FINDING_ACTIONS, "get"):
                return 0
            if not op.entity:
                return FINDS_EVERYTHING if op.action == finders.SEARCH else 0
            share = FINDER_OF_WRITE if self.asked.intent == Intent.WRITE else 1
            if traits.needs_id:
                return share * (GETS_ROW if op.action == "get" else 0)
            is_covered = op.action == finders.SEARCH and self._has_general_search and not op.is_of_service
            return 0 if is_covered else share * FINDS_ROWS
        if not self.asked.actions:
            return 0
        if traits.action in self.asked.actions:
            if not self.may_delete(op):
                return OTHER_ACTION
            if self.entity_scores[op.entity] < LIKELY_ENTITY:
                return 0
            return WANTED_ACTION if op.action == traits.action else SPECIAL_ACTION
        has_wanted = any((op.connection, op.entity, each) in self.index.writes for each in self.asked.actions)
        return OTHER_ACTION if has_wanted else ONLY_ACTION


def _names_row(message: str, name: str) -> bool:
    return len(name) >= MIN_ROW_NAME and name.casefold() in message.casefold()


def get_main_entities(context: UserContext) -> tuple[str, ...]:
    """Return the kinds of rows that messages of a context are nearly always about, the likeliest first."""
    return _MAIN_ENTITIES.get(resolve_context(context.type), ())


def _shares_words(message: str, conversation: ToolsetConversation) -> bool:
    """Whether a message has a word of the assistant's last answers: a row that they named, for example."""
    replies = [text for role, text in conversation.earlier if role == ASSISTANT][-MAX_REPLIES:]
    return not _list_stems(message).isdisjoint(_list_stems(" ".join(replies)))


def _list_stems(text: str) -> set[str]:
    words = (word for word in tokenizer.split_words(text) if len(word) >= MIN_SHARED_WORD and word not in STOP_WORDS)
    return {tokenizer.stem(word) for word in words}
