"""The handlers that benchmarks run: reads and a write of one task, and synthetic ops that only answer."""

from django.db import connection

from benchmarks import synthetic, upstream
from core.handler_contract import OpHandler, OpOutcome, OpRequest
from workspace.models import Task

MAX_SYNTHETIC_OPS = 10_000  # synthetic ops in the largest catalog

_KEY = Task._meta.get_field("id")
_SELECT = f"SELECT title, state_key, priority FROM {Task._meta.db_table} WHERE id = %s"  # noqa: S608 - no input


def read_task(request: OpRequest) -> OpOutcome:
    """Return one task with a single handwritten SELECT, so that mostly the gateway itself is measured."""
    task_id = request.args["task_id"]
    with connection.cursor() as cursor:
        cursor.execute(_SELECT, [_KEY.get_db_prep_value(task_id, connection)])
        title, state_key, priority = cursor.fetchone()
    row = {"id": task_id, "title": title, "state_key": state_key, "priority": priority}
    return OpOutcome({"task": row}, entity_id=task_id, entity_name=title)


def read_task_by_orm(request: OpRequest) -> OpOutcome:
    """Return one task through the ORM. Building the statement takes ten times as long as SQLite takes to run it."""
    task = Task.objects.get(pk=request.args["task_id"])
    row = {"id": str(task.pk), "title": task.title, "state_key": task.state_key, "priority": task.priority}
    return OpOutcome({"task": row}, entity_id=str(task.pk), entity_name=task.title)


def write_task(request: OpRequest) -> OpOutcome:
    """Set one task's priority with one small UPDATE."""
    Task.objects.filter(pk=request.args["task_id"]).update(priority=request.args["priority"])
    return OpOutcome({"task": {"id": request.args["task_id"]}}, entity_id=request.args["task_id"])


def return_done(_request: OpRequest) -> OpOutcome:
    """Return a fixed result, so that only the gateway is measured."""
    return OpOutcome({"message": "Done."})


_DONE_HANDLER = OpHandler(apply=return_done)

HANDLERS = dict.fromkeys(synthetic.build_tool_names(MAX_SYNTHETIC_OPS), _DONE_HANDLER) | {
    synthetic.READ["tool_name"]: OpHandler(apply=read_task),
    synthetic.READ_BY_ORM["tool_name"]: OpHandler(apply=read_task_by_orm),
    synthetic.WRITE["tool_name"]: OpHandler(apply=write_task),
    synthetic.WAIT["tool_name"]: OpHandler(apply=upstream.call_upstream),
}
