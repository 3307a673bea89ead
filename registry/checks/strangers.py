"""What somebody may have hidden in a text, or aimed at the model. The reading of it is registry.imports.prose's."""

from collections.abc import Iterator
from typing import Any

import orjson

from registry.checks import places
from registry.checks.finding import Finding, Rule
from registry.imports import prose

HIDDEN = Rule(
    "hidden_characters",
    "Control, direction or other characters that cannot be seen: what a person reviews is not what the model reads.",
    "Delete them.",
)
INSTRUCTION = Rule(
    "instructs_the_model",
    "A sentence in imported text that reads like an instruction to the model.",
    "Delete the sentence, or say in your own words what the op does.",
)
RULES = (HIDDEN, INSTRUCTION)

MENDED = 400  # characters of a text that is written out without them


def hidden(name: str, value: Any) -> Iterator[Finding]:
    """Yield a finding for each string, at any depth of an entry, with characters that cannot be seen."""
    for field, text in places.strings(value) if _may_hide(value) else ():
        if letters := prose.hidden(text):
            listed = ", ".join(f"U+{ord(letter):04X}" for letter in letters[:5])
            mended = "".join(letter for letter in text if letter not in letters) if len(text) <= MENDED else ""
            message = f"It holds characters that cannot be seen: {listed}."
            yield HIDDEN.found(name, field, message, f"Write: {mended}" if mended else "")


def instructions(entry: dict[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each text of an imported op that tells the model what to do."""
    texts = [(field, text) for field, text in places.strings(entry) if field.startswith(f"{places.SCHEMA}/")]
    for field in ("summary", "description", "notes"):
        texts += places.strings(entry.get(field, ""), field)
    for field, text in texts:
        if said := prose.instruction(text):
            yield INSTRUCTION.found(
                entry["op"], field, f"It reads like an instruction to the model: “{prose.shown(said)}”."
            )


def _may_hide(value: Any) -> bool:
    """Whether a look at each string can find anything: it takes twenty times as long as this one."""
    text = orjson.dumps(value)
    return not text.isascii() or any(sign in text for sign in (b"\\u", b"\\b", b"\\f", b"\x7f"))
