"""The project of the task that a conversation is about."""

from collections.abc import Mapping
from typing import Any

from chat.context.place import TASK, Place
from chat.conversations import turn_store
from chat.gateway.client import GatewayClient
from chat.gateway.context_header import format_context_header
from chat.models import Conversation

READ_SECONDS = 15
BRIEF = {"include_subtasks": False, "include_links": False, "max_chars": 500}


def complete_place(conversation: Conversation, gateway: GatewayClient) -> Place:
    """Return where the user is. A task gets its project, once: the gateway fills in `project_id` only from the place.

    A task that cannot be read stays without. Raises GatewayUnavailable.
    """
    place = Place(**conversation.context)
    if place.type != TASK or place.project_id:
        return place
    project_id = _read_project_id(gateway, place.entity_id)
    if project_id is None:
        return place
    turn_store.store_context(conversation, {**conversation.context, "project_id": project_id})
    place = Place(**conversation.context)
    gateway.use_context(format_context_header(place))
    return place


def _read_project_id(gateway: GatewayClient, task_id: str | None) -> str | None:
    body = {"op": "onto.task.get", "args": {"task_id": task_id, **BRIEF}}
    result = gateway.call("POST", "exec", body, seconds=READ_SECONDS).body.get("result")
    task: Any = result.get("task") if isinstance(result, Mapping) else None
    project_id = task.get("project_id") if isinstance(task, Mapping) else None
    return str(project_id) if project_id else None
