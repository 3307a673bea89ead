"""What benchmarks run: a read and a write of one task, and synthetic ops that only answer."""

from benchmarks import synthetic
from workspace.contract import Handler, Outcome, Request
from workspace.models import Task

MOST = 10_000  # synthetic ops in one catalog


def read_task(request: Request) -> Outcome:
    """Answer one task: one SELECT by primary key."""
    task = Task.objects.get(pk=request.args["task_id"])
    row = {"id": str(task.pk), "title": task.title, "state_key": task.state_key, "priority": task.priority}
    return Outcome({"task": row}, entity_id=str(task.pk), entity_name=task.title)


def write_task(request: Request) -> Outcome:
    """Set one task's priority: one small UPDATE."""
    Task.objects.filter(pk=request.args["task_id"]).update(priority=request.args["priority"])
    return Outcome({"task": {"id": request.args["task_id"]}}, entity_id=request.args["task_id"])


def answer(_request: Request) -> Outcome:
    """Answer without doing anything: what is measured is the way here."""
    return Outcome({"message": "Done."})


HANDLERS = {op["tool_name"]: Handler(apply=answer) for op in synthetic.ops(MOST)} | {
    synthetic.READ["tool_name"]: Handler(apply=read_task),
    synthetic.WRITE["tool_name"]: Handler(apply=write_task),
}
