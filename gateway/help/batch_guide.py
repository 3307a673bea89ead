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
    "summary": "Repeat a call for the rows of an earlier answer, choose rows, and stop on a condition",
    "fields": {
        "for_each": f'{{"$result": "0#/result/tasks"}}: run this exec entry for each row of that list, at most '
        f"{request_schemas.MAX_LOOP_ROWS}, in order",
        "$item": 'in args, {"$item": "/id"} is a value of the row; {"$item": ""} is the whole row',
        "where": "{pointer, op, value}: only rows for which it holds; op is "
        f"{', '.join(request_schemas.COMPARISONS)}; dates compare as text",
        "fields": "as in tool_exec, for each answer",
        "stop_if": '{pointer, op, value} on the envelope of an answer, such as {"pointer": "/result/total", '
        '"op": "eq", "value": 0}; once it holds, no further row and no later entry runs',
        "stop_on_error": "true in a loop: after a row fails, skip the rows that follow",
        "answer": 'items: one envelope a row, so a later entry reads {"$result": "1#/items/0/result/task/id"} or loops '
        'over {"$result": "1#/items"}',
    },
    "examples": [
        {
            "description": "Give all open tasks of a project priority 1",
            "ops": [
                {"type": "exec", "op": "onto.task.list", "args": {"project_id": "<id>"}},
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
