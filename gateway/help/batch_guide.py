"""Help on the path `batch`: what a model reads about loops and conditions; the definition of tool_batch leaves it out.

It is a constant like the definition, so that both fit each other in every release.
"""

from functools import cache
from typing import Any

from gateway.contracts import request_schemas
from registry.help.answers import HelpAnswer, build_answer
from registry.help.help_pages import HelpQuery
from registry.snapshot.copy_kinds import BATCH_PATH

_BODY: dict[str, Any] = {
    "path": BATCH_PATH,
    "type": "guide",
    "summary": "Repeat a call for the rows of an earlier answer",
    "fields": {
        "for_each": f"the list of rows; the call runs for each, in order, at most {request_schemas.MAX_LOOP_ROWS}",
        "$item": 'in args: a value of the row; "" is the whole row',
        "where": f"only rows for which it holds; op is {', '.join(request_schemas.COMPARISONS)}",
        "stop_if": "the same on an answer, such as /result/total eq 0; then no further row and no later entry runs",
        "stop_on_error": "true: after a row fails, no further row runs",
        "answer": 'items, an envelope a row, such as {"$result": "1#/items/0/result/task/id"}',
    },
    "examples": [
        {
            "ops": [
                {"type": "exec", "op": "onto.task.list", "args": {"project_id": "<id>"}, "fields": ["state_key"]},
                {
                    "type": "exec",
                    "op": "onto.task.update",
                    "for_each": {"$result": "0#/result/tasks"},
                    "where": {"pointer": "/state_key", "op": "ne", "value": "done"},
                    "args": {"task_id": {"$item": "/id"}, "priority": 1},
                },
            ],
        }
    ],
}


def is_asked_for(query: HelpQuery) -> bool:
    """Whether a request for help is one for this guide."""
    return query.query is None and query.path == BATCH_PATH


@cache
def get_answer() -> HelpAnswer:
    """Return the guide."""
    return build_answer(_BODY, BATCH_PATH)
