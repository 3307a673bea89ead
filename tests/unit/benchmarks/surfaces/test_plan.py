from benchmarks.surfaces.evaluation_tasks import load_tasks

KINDS = {"question", "create", "update", "link", "schedule", "delete", "batch", "impossible", "ambiguous"}


def test_tasks_cover_all_kinds_and_each_checks_something() -> None:
    tasks = load_tasks()

    assert len(tasks) == len({task.name for task in tasks}) == 26
    assert {task.kind for task in tasks} == KINDS
    for task in tasks:
        assert task.rows or task.answer or task.asks or task.refuses or task.must_confirm, task.name
        assert not (task.kind == "question" and task.rows), task.name
