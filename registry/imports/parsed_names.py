"""What the name of a tool or an operation says: its resource, its verb, and what narrows them."""

from collections.abc import Iterable
from dataclasses import dataclass

from registry.text import tool_name_words

MAX_SEGMENT = 48


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
    def leaf(self) -> str:
        return join_segment((*self.verb.split("_"), *self.qualifier))

    @property
    def entity(self) -> str:
        return join_segment(self.resource_key) if self.resource_key else ""

    @property
    def action(self) -> str:
        return tool_name_words.CANONICAL_ACTIONS.get(self.verb, self.verb)


def join_segment(parts: Iterable[str]) -> str:
    """Join words into a path segment: lower-case ASCII, a letter first, cut between words."""
    text = ""
    for part in parts:
        longer = f"{text}_{part}" if text else part[:MAX_SEGMENT]
        if len(longer) > MAX_SEGMENT:
            break
        text = longer
    return text if text[:1].isalpha() else f"n{text}"
