"""What benchmarks run: a read and a write of one task, and synthetic ops that only answer."""

from benchmarks import synthetic
from workspace.contract import Handler, Outcome, Request
from workspace.models import Task

MOST = 10_000  # synthetic ops in one catalog


def read_task(request: Request) -> Outcome:
    """Answer one task: one SELECT by primary key."""
    task_id = request.args["task_id"]
    task = Task.objects.values("title", "state_key", "priority").get(pk=task_id)
    return Outcome({"task": {"id": task_id, **task}}, entity_id=task_id, entity_name=task["title"])


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
