"""Find hidden characters and prompt injection in copy. The detection itself is in registry.text.cleanup."""

from collections.abc import Iterator
from typing import Any

import orjson

from registry.checks import places
from registry.checks.finding import Finding, Rule
from registry.imports import prose

HIDDEN = Rule(
    "hidden_characters",
    "Control, direction or other invisible characters: a reviewer does not see what the model reads.",
    "Delete them.",
)
INSTRUCTION = Rule(
    "instructs_the_model",
    "A sentence in imported text that reads like an instruction to the model.",
    "Delete the sentence, or describe the op in your own words.",
)
RULES = (HIDDEN, INSTRUCTION)

MENDED = 400  # characters; the fix of a longer text does not repeat it


def hidden(name: str, value: Any) -> Iterator[Finding]:
    """Yield a finding for each string with invisible characters, at any depth of an entry."""
    for field, text in places.strings(value) if _may_hide(value) else ():
        if letters := prose.hidden(text):
            listed = ", ".join(f"U+{ord(letter):04X}" for letter in letters[:5])
            mended = "".join(letter for letter in text if letter not in letters) if len(text) <= MENDED else ""
            message = f"It has invisible characters: {listed}."
            yield HIDDEN.found(name, field, message, f"Write: {mended}" if mended else "")


def instructions(entry: dict[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each text of an imported op that instructs the model."""
    texts = [(field, text) for field, text in places.strings(entry) if field.startswith(f"{places.SCHEMA}/")]
    for field in ("summary", "description", "notes"):
        texts += places.strings(entry.get(field, ""), field)
    for field, text in texts:
        if said := prose.instruction(text):
            yield INSTRUCTION.found(
                entry["op"], field, f"It reads like an instruction to the model: “{prose.shown(said)}”."
            )


def _may_hide(value: Any) -> bool:
    """Return whether checking each string can find anything. This test is twenty times faster."""
    text = orjson.dumps(value)
    return not text.isascii() or any(sign in text for sign in (b"\\u", b"\\b", b"\\f", b"\x7f"))
