"""Gateway-Context: where the user is, as a structured field (RFC 9651)."""

from typing import Any

import http_sf

from chat.context.place import TASK, Place


def format_context_header(place: Place) -> str:
    """Return the header's value. A task is sent with its project, where that is known."""
    fields: dict[str, Any] = {"type": http_sf.Token(place.type)}
    if place.project_id:
        fields["project_id"] = place.project_id
    if place.type == TASK and place.entity_id:
        fields |= {"entity_type": http_sf.Token("task"), "entity_id": place.entity_id}
    return str(http_sf.ser(fields))
