"""util.buildos.*: product overview and usage guide, from the caller's release."""

from typing import Any

from gateway.errors import FieldError, Invalid
from gateway.executors.base import Outcome, Work


def show(work: Work, _: Any, *, prompt: str) -> Outcome:
    """Return the sections of a prompt, or one of them. Raises Invalid for an unknown section."""
    sections = {section.name: section for section in work.catalog.prompts.get(prompt, ())}
    name = work.args.get("section")
    if name is not None and name not in sections:
        message = f"Unknown section. Send one of {', '.join(sections)}, or omit it for all."
        problem = FieldError("/section", "unknown_section", message, expected=", ".join(sections))
        raise Invalid(message, reason="invalid_args", field_errors=[problem])
    shown = [sections[name]] if name else sections.values()
    told = [{"name": section.name, "title": section.title, "text": section.text} for section in shown]
    message = f"Section {name}." if name else f"{len(told)} sections: {', '.join(sections)}."
    return Outcome({"sections": told, "message": message})
