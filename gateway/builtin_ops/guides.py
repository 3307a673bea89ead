"""util.buildos.*: product overview and usage guide, from the caller's release."""

from typing import Any

from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.executors.base import UpstreamCall, UpstreamResponse


def answer_guide(work: UpstreamCall, _: Any, *, prompt: str) -> UpstreamResponse:
    """Return the sections of a prompt, or one of them. Raises InvalidRequestError for an unknown section."""
    sections = {section.name: section for section in work.catalog.prompts.get(prompt, ())}
    name = work.args.get("section")
    if name is not None and name not in sections:
        message = f"Unknown section. Send one of {', '.join(sections)}, or omit it for all."
        problem = FieldError("/section", "unknown_section", message, expected=", ".join(sections))
        raise InvalidRequestError(message, reason="invalid_args", field_errors=[problem])
    chosen = [sections[name]] if name else sections.values()
    section_bodies = [{"name": section.name, "title": section.title, "text": section.text} for section in chosen]
    message = f"Section {name}." if name else f"{len(section_bodies)} sections: {', '.join(sections)}."
    return UpstreamResponse({"sections": section_bodies, "message": message})
