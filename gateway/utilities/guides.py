"""util.buildos.*: what the product is and how to use it, as the caller's release says."""

from typing import Any

from gateway.errors import FieldError, Invalid
from gateway.executors.base import Outcome, Work


def show(work: Work, _: Any, *, prompt: str) -> Outcome:
    """Answer a prompt's sections, or one of them. Raises Invalid for a section that it does not have."""
    sections = {section.name: section for section in work.catalog.prompts.get(prompt, ())}
    name = work.args.get("section")
    if name is not None and name not in sections:
        message = f"There is no such section. Send one of {', '.join(sections)}, or leave it out for all."
        problem = FieldError("/section", "unknown_section", message, expected=", ".join(sections))
        raise Invalid(message, reason="invalid_args", field_errors=[problem])
    shown = [sections[name]] if name else sections.values()
    told = [{"name": section.name, "title": section.title, "text": section.text} for section in shown]
    message = f"The section {name}." if name else f"{len(told)} sections: {', '.join(sections)}."
    return Outcome({"sections": told, "message": message})
