"""What speaks for each op in a conversation, as a score."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gateway.toolset.selection import finders, request_words
from gateway.toolset.selection.candidates import (
    CREATE_PROJECT,
    ONLY_WHEN_ASKED,
    ToolCategory,
    find_named_entities,
    get_category,
    get_focus,
    list_asked_categories,
)
from gateway.toolset.selection.message_intent import Intent, MessageIntent, detect_message_intent
from gateway.toolset.shown_ops import READ_ONLY_CONTEXTS, resolve_context
from gateway.toolset.shown_tools import ToolsetRequest
from registry import search
from registry.catalog.model import Catalog, CatalogOp
from registry.help.typed_tools import TypedTools
from registry.search import intent, tokenizer

MAX_CERTAIN = 3  # tools called lately that are always shown
MAX_FOUND = 60  # ops of a search that count
MAX_RECENT = 8  # tools called lately that count, the newest first
MAX_FOUND_ENTITIES = 2  # kinds of rows that a search suggests
MIN_ROW_NAME = 3  # characters of a name that is looked for in a message

# What speaks for an op. A search gives its best op 1.
NAMED_ENTITY = 0.8
FOUND_ENTITY = 0.3
RECENT_ENTITY = 0.7  # of a message that points to what was said before
RECENT_TOOL = 0.5
NEW_MESSAGE = 0.25  # of these two, for a message that stands alone
FOCUS = 0.6
EARLIER_ENTITY = 0.4  # named in the message before
FOLLOW_UP = 0.6  # of what a search finds for a message that points to what was said before
EARLIER = 0.5  # of what the message before asks for
UNNAMED_ENTITY = 0.4  # the likeliest kind of row, if a clause names none
MAIN_ENTITY = 0.3
WANTED_ACTION = 0.7
OTHER_ACTION = -0.5
FINDS_ROWS = 0.35
FINDS_EVERYTHING = 0.9
GETS_ROW = 0.3
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


@dataclass(frozen=True, slots=True)
class _OpTraits:
    """What a selection asks about an op."""

    category: ToolCategory
    action: str  # create, read, update or delete
    path_parts: frozenset[str]
    needs_id: bool
    tokens: int


class _SelectionIndex:
    """The ops of a catalog by what a selection asks about them."""

    def __init__(self, catalog: Catalog) -> None:
        tools = TypedTools.of(catalog)
        self.traits: dict[str, _OpTraits] = {}
        self.own_entities: set[str] = set()
        self.services: dict[str, set[str]] = {}  # the stems of the names of each connection
        self.writes: set[tuple[str, str, str]] = set()  # connection, entity and action
        self._own: set[str] = set()
        self._by_entity: dict[str, set[str]] = defaultdict(set)
        self._by_service: dict[str, set[str]] = defaultdict(set)
        for path, op in catalog.ops.items():
            action, needs_id = intent.detect_op_action(op), bool(finders.list_needed_entities(op))
            parts = frozenset(path.split("."))
            self.traits[path] = _OpTraits(get_category(op), action, parts, needs_id, tools[path].tokens)
            if op.is_write:
                self.writes.add((op.connection, op.entity, action))
            if op.is_of_service:
                self.services.setdefault(op.connection, set()).update(map(tokenizer.stem, (op.group, op.connection)))
                self._by_service[op.connection].add(path)
                self._by_entity[op.entity].add(path)
            else:
                self._own.add(path)
                self.own_entities |= {op.entity} - {""}

    def narrow(
        self, found: Mapping[str, float], entities: Iterable[str], services: Iterable[str], recent: Iterable[str]
    ) -> set[str]:
        """Return the ops worth a score: our own, those of named services and kinds of rows, and the best found."""
        paths = self._own.union(recent, *(self._by_service[each] for each in services))
        paths = paths.union(*(self._by_entity[each] for each in entities if each in self._by_entity))
        return paths.union(sorted(found, key=lambda path: -found[path])[:MAX_FOUND])


class Evidence:
    """What speaks for each op, as a score by path."""

    def __init__(
        self, request: ToolsetRequest, candidates: Sequence[CatalogOp], catalog: Catalog, asked: MessageIntent
    ) -> None:
        self._request, self._catalog, self._asked = request, catalog, asked
        self._index = catalog.get_or_derive(_SelectionIndex, lambda: _SelectionIndex(catalog))
        self._visible = catalog.view_for(request.visibility).ops
        self._pool = {op.op for op in candidates}
        text = f"{request.message} {asked.translation}"
        self._words = request_words.join_words(text)
        self.recent = self._list_recent()
        self._named_rows = {
            row.entity for row in request.conversation.rows if row.entity and _names_row(request.message, row.name)
        }
        self.named = find_named_entities(text, catalog) | self._named_rows
        self.is_follow_up = bool(request.conversation.earlier or self.recent) and (
            asked.is_agreement or (asked.is_follow_up and not self.named)
        )
        self._focus = get_focus(request.context)
        self.asked_categories = list_asked_categories(text, is_write=asked.intent == Intent.WRITE)
        self._services = self._find_named_services(text)
        self._earlier = _find_earlier_request(request)
        self.scores: dict[str, float] = {}
        self._score_all(asked.translation or request.message)

    @property
    def known_entities(self) -> set[str]:
        """The kinds of rows whose ids the model knows, or gets from the context."""
        context = {"project"} if resolve_context(self._request.context.type) != "global" else set()
        return (context | self._named_rows | {self._focus}) - {""}

    def rank(self) -> list[CatalogOp]:
        """Return the ops that the intent allows, the best first."""
        paths = sorted(self.scores, key=lambda path: (-self.scores[path], path))
        return [self._catalog.ops[path] for path in paths]

    def list_certain(self) -> list[CatalogOp]:
        """Return the ops that are shown whatever their score: those called lately, if the message continues that."""
        keeps_recent = self.is_follow_up or self._request.conversation.is_continued
        certain = self.recent[:MAX_CERTAIN] if keeps_recent else []
        is_creation = intent.CREATE in self._asked.actions and "project" in self.named
        if is_creation and CREATE_PROJECT in self._visible:
            certain = [self._catalog.ops[CREATE_PROJECT], *certain]
        return [op for op in certain if op.op in self.scores]

    def list_searches(self) -> list[CatalogOp]:
        """Return the ops of the context that search rows of every kind: any row that a message names can be one."""
        ops = (self._catalog.ops[path] for path in sorted(self._pool & self.scores.keys()))
        searches = (op for op in ops if op.action == finders.SEARCH and not op.entity)
        return [op for op in searches if get_category(op) not in ONLY_WHEN_ASKED]

    def _list_recent(self) -> list[CatalogOp]:
        """Return the ops that the model called lately, the newest first."""
        names = dict.fromkeys(reversed(self._request.conversation.recent_tools))
        ops = (self._catalog.find_op(name) for name in names)
        return [op for op in ops if op is not None and op.op in self._visible][:MAX_RECENT]

    def _find_named_services(self, text: str) -> set[str]:
        """Return the connections of services that the message names, or that were called lately."""
        words = {tokenizer.stem(word) for word in tokenizer.split_words(text)}
        named = {connection for connection, stems in self._index.services.items() if stems & words}
        return named | {op.connection for op in self.recent[:2] if op.is_of_service}

    def _score_all(self, text: str) -> None:
        asked, request = self._asked, self._request
        found = self._search(text)
        if self.is_follow_up:
            earlier = self._search(self._earlier) if self._earlier else {}
            found = defaultdict(float, {path: FOLLOW_UP * share for path, share in found.items()})
            for path, share in earlier.items():
                found[path] = max(found[path], EARLIER * share)
        entities = self._score_entities(found)
        self._topics = {topic for topic, pattern in request_words.load_topics().items() if pattern.search(self._words)}
        recent = {op.op: RECENT_TOOL * self._recent_weight for op in self.recent}
        allows_writes = asked.intent != Intent.READ and request.context.type not in READ_ONLY_CONTEXTS
        for path in self._index.narrow(found, self.named, self._services, recent) & self._visible:
            op = self._catalog.ops[path]
            if op.is_write and not (allows_writes and (path in self._pool or not self._is_narrow)):
                continue
            score = found[path] + entities[op.entity] + recent.get(path, 0) + self._score_kind(op)
            self.scores[path] = score + self._score_action(op)

    def _score_kind(self, op: CatalogOp) -> float:
        """Return what the topic, the category and the service of an op add, less what its definition costs."""
        traits = self._index.traits[op.op]
        score = -TOKEN_COST * traits.tokens
        if not self._topics.isdisjoint(traits.path_parts):
            score += TOPIC
        if traits.category in self.asked_categories:
            score += ASKED_CATEGORY
        if op.op not in self._pool:
            score += OUTSIDE
        if op.connection in self._services:
            score += NAMED_SERVICE
        elif op.is_of_service and op.entity in self._index.own_entities:
            score += OF_OTHER_SERVICE
        return score

    @property
    def _recent_weight(self) -> float:
        """How much the tools called lately say. A turn that goes on after a decision keeps what it had."""
        if self.is_follow_up:
            return 1
        return 0 if self._request.conversation.is_continued else NEW_MESSAGE

    @property
    def _is_narrow(self) -> bool:
        """Whether the context is one in which only its own tools change something."""
        return "global" != resolve_context(self._request.context.type) != "project"

    def _search(self, text: str) -> defaultdict[str, float]:
        """Return the share of each op that a search finds."""
        ranking = search.get_index(self._catalog).rank(text, use_endpoint=False)
        return defaultdict(float, ranking.shares)

    def _score_entities(self, found: dict[str, float]) -> defaultdict[str, float]:
        scores: defaultdict[str, float] = defaultdict(float)
        context = self._request.context.type
        for at, entity in enumerate(_MAIN_ENTITIES.get(resolve_context(context), ())):
            scores[entity] += MAIN_ENTITY - 0.05 * at
        best = sorted(found, key=lambda path: -found[path])
        for entity in list(dict.fromkeys(self._catalog.ops[path].entity for path in best))[:MAX_FOUND_ENTITIES]:
            scores[entity] += FOUND_ENTITY
        for entity in self.named:
            scores[entity] += NAMED_ENTITY
        main = _MAIN_ENTITIES.get(resolve_context(context), ())
        names_all = self.named and all(find_named_entities(part, self._catalog) for part in self._asked.parts)
        texts = f"{self._words} {self._earlier.casefold()}" if self.is_follow_up else self._words
        has_clock = bool(request_words.load_shared()["clock"].search(texts))
        if main and not self.is_follow_up and not names_all:
            for entity in (main[0], *(("event",) if has_clock else ())):
                scores[entity] += UNNAMED_ENTITY
        for at, entity in enumerate(dict.fromkeys(op.entity for op in self.recent)):
            scores[entity] += RECENT_ENTITY * self._recent_weight / (at + 1)
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
        traits = self._index.traits[op.op]
        if not op.is_write:
            if traits.category in ONLY_WHEN_ASKED or op.action not in (*finders.FINDING_ACTIONS, "get"):
                return 0
            if not op.entity:
                return FINDS_EVERYTHING if op.action == finders.SEARCH else 0
            return GETS_ROW if traits.needs_id else FINDS_ROWS
        if not self._asked.actions:
            return 0
        if traits.action in self._asked.actions:
            return WANTED_ACTION if op.action == traits.action else SPECIAL_ACTION
        has_wanted = any((op.connection, op.entity, each) in self._index.writes for each in self._asked.actions)
        return OTHER_ACTION if has_wanted else ONLY_ACTION


def _names_row(message: str, name: str) -> bool:
    return len(name) >= MIN_ROW_NAME and name.casefold() in message.casefold()


def _find_earlier_request(request: ToolsetRequest) -> str:
    """Return the user's last message before this one that asked for something, in English words if need be."""
    for text in request.conversation.earlier_requests:
        asked = detect_message_intent(text)
        if not asked.is_agreement and not asked.is_chat:
            return asked.translation or text
    return ""
