"""What an import brings, from any document: operations with parsed names, and refusals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.text import english, json_text
from registry.request_mapping import RecordedRequest
from registry.text import cleanup, tool_name_words

MAX_SEGMENT = 48
MAX_TITLE = 60  # characters of a title or tag in the summary of a group
MAX_TOPICS = 4


@dataclass(frozen=True, slots=True)
class ParsedToolName:
    """A parsed tool name: its resource, its verb, and what narrows them."""

    name: str
    namespaces: tuple[str, ...]  # namespaces in the name, as in auth0.updateUser
    resource: tuple[str, ...]
    verb: str
    qualifier: tuple[str, ...] = ()  # by, email in get_user_by_email
    is_write: bool = True
    is_plural: bool = False
    has_verb: bool = True  # the name has a verb; without one, the resource is never shortened

    @property
    def resource_key(self) -> tuple[str, ...]:
        """The resource in the singular, by which tools are grouped: `contact` and `contacts` are equal."""
        return (*self.resource[:-1], tool_name_words.to_singular(self.resource[-1])) if self.resource else ()

    @property
    def is_list_called_get(self) -> bool:
        """Whether its name says get, but its resource is in the plural: get_contacts."""
        return self.verb == "get" and self.is_plural

    @property
    def leaf(self) -> str:
        return join_segment((*self.verb.split("_"), *self.qualifier))

    @property
    def entity(self) -> str:
        return join_segment(self.resource_key) if self.resource_key else ""

    @property
    def action(self) -> str:
        return english.COMMON_VERBS.get(self.verb, self.verb)


def join_segment(parts: Iterable[str]) -> str:
    """Join words into a path segment: lower-case ASCII, a letter first, cut between words."""
    text = ""
    for part in parts:
        longer = f"{text}_{part}" if text else part[:MAX_SEGMENT]
        if len(longer) > MAX_SEGMENT:
            break
        text = longer
    return text if text[:1].isalpha() else f"n{text}"


class RequestCheck(Protocol):
    """What a document says about the request of an operation."""

    def find_problem(self, request: RecordedRequest) -> str:
        """Return how a request differs from it, as a clause; "" if it does not."""


_LATER_FIELDS = ("result_row", "flow_labels")  # which earlier versions did not import


@dataclass(frozen=True, slots=True)
class SourceOp:
    """One op of a document. `fields` are those of its entry, except its path and its tool name.

    `confirm`: a new op asks the end user first. It is a default for admins, not a part of the definition.
    `definition` is what the upstream says about it, if the fields do not have all of that, and `digest` its hash.
    `documented` is what its document says about its request, to check the op with.
    """

    name: str  # what identifies it at its upstream
    parsed: ParsedToolName
    tool_name: str  # the one it would like
    fields: dict[str, Any]
    remarks: Sequence[str] = ()
    confirm: bool = False
    definition: dict[str, Any] | None = None
    digest: str = ""
    documented: RequestCheck | None = None

    def compute_digest(self) -> str:
        """Return the hash of its definition. It leaves out what earlier versions did not import."""
        defined = {name: value for name, value in self.fields.items() if name not in _LATER_FIELDS}
        return self.digest or json_text.hash_canonically(defined)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something in a document that cannot become an op: its name or position, and the reason.

    `is_unread`: a part of it is at a host that was not called, so nothing is known about it.
    """

    name: str
    reason: str
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class ImportSource:
    """The ops of a document. `unit` is what the document calls them, and `origin` what they are listed in.

    `other_names` are also in the document, but were not picked. Their ops stay as they are. `remarks` are sentences on
    the document as a whole.
    """

    ops: Sequence[SourceOp]
    refusals: Sequence[Refusal] = ()
    other_names: frozenset[str] = frozenset()
    tools_text: str = field(default="", repr=False)  # all of it in compact JSON, as a model would get it
    title: str = ""  # of the document
    topics: Sequence[str] = ()  # its tags, the one with the most ops first
    unit: str = "functions"
    origin: str = "the document"
    remarks: Sequence[str] = ()

    def describe(self) -> str:
        """Return what the document is about: its title and its tags, for the summary of its group.

        Empty without a title, or if they read like instructions to the model.
        """
        title, *topics = (
            " ".join(cleanup.strip_hidden_characters(text).split())[:MAX_TITLE]
            for text in (self.title, *self.topics[:MAX_TOPICS])
        )
        more = ["…"] if len(self.topics) > MAX_TOPICS else []
        summary = f"{title}: {', '.join([*topics, *more])}"[:200] if title and topics else title
        return "" if cleanup.find_remarks([summary]) else summary
