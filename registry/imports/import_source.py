"""What an import brings, whatever document it came from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.text import json_text
from registry.imports.parsed_names import ParsedToolName


@dataclass(frozen=True, slots=True)
class SourceOp:
    """One op of a document. `fields` are those of its entry, except its path and its tool name.

    `confirm`: a new op asks the end user first. It is a default for admins, and no part of the definition.
    `definition` is what the upstream says about it, if the fields do not have all of that, and `digest` its hash.
    """

    name: str  # what identifies it at its upstream
    parsed: ParsedToolName
    tool_name: str  # the one it would like
    fields: dict[str, Any]
    remarks: Sequence[str] = ()
    confirm: bool = False
    definition: dict[str, Any] | None = None
    digest: str = ""

    def compute_digest(self) -> str:
        """Return the hash of its definition."""
        return self.digest or json_text.hash_canonically(self.fields)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something in a document that cannot become an op: its name or position, and the reason.

    `is_unread`: a part of it is at a host that was not asked, so nothing is known about it.
    """

    name: str
    reason: str
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class ImportSource:
    """The ops of a document. `unit` is what the document calls them, and `origin` what they are listed in.

    `other_names` are in the document, too, but were not picked. Their ops stay as they are.
    """

    ops: Sequence[SourceOp]
    refusals: Sequence[Refusal] = ()
    other_names: frozenset[str] = frozenset()
    tools_text: str = field(default="", repr=False)  # all of it in compact JSON, as a model would get it
    unit: str = "functions"
    origin: str = "the document"
