"""Find hidden characters and prompt injection in copy. The detection itself is in registry.text.cleanup."""

from collections.abc import Iterator
from typing import Any

from core.text import json_text
from registry.checks import text_locations
from registry.checks.finding import CheckRule, Finding
from registry.snapshot.copy_kinds import Kind
from registry.text import cleanup

HIDDEN = CheckRule(
    "hidden_characters",
    "Control, direction or other invisible characters: a reviewer does not see what the model reads.",
    "Delete them.",
)
INSTRUCTION = CheckRule(
    "instructs_the_model",
    "A sentence in imported text that reads like an instruction to the model.",
    "Delete the sentence, or describe the op in your own words.",
)
RULES = (HIDDEN, INSTRUCTION)

MAX_FIX_CHARACTERS = 400  # characters; the fix of a longer text does not repeat it


def find_hidden_characters(name: str, value: Any, *, kind: Kind = Kind.OP) -> Iterator[Finding]:
    """Yield a finding for each string with invisible characters, at any depth of an entry."""
    for field, text in text_locations.iter_strings(value) if _can_hide_characters(value) else ():
        if letters := cleanup.find_hidden_characters(text):
            codes = ", ".join(f"U+{ord(letter):04X}" for letter in letters[:5])
            cleaned = (
                "".join(letter for letter in text if letter not in letters) if len(text) <= MAX_FIX_CHARACTERS else ""
            )
            message = f"It has invisible characters: {codes}."
            yield HIDDEN.make_finding(name, field, message, f"Without them: {cleaned}" if cleaned else "", kind=kind)


def find_instructions(entry: dict[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each text of an imported op that instructs the model."""
    texts = [
        (field, text)
        for field, text in text_locations.iter_strings(entry)
        if field.startswith(f"{text_locations.SCHEMA}/")
    ]
    for field in ("summary", "description", "notes"):
        texts += text_locations.iter_strings(entry.get(field, ""), field)
    for field, text in texts:
        if instruction := cleanup.find_instruction(text):
            yield INSTRUCTION.make_finding(
                entry["op"],
                field,
                f"It reads like an instruction to the model: “{cleanup.escape_for_terminal(instruction)}”.",
            )


def _can_hide_characters(value: Any) -> bool:
    """Return whether checking each string can find anything. This test is twenty times faster."""
    text = json_text.dump(value)
    return not text.isascii() or any(sign in text for sign in (b"\\u", b"\\b", b"\\f", b"\x7f"))
