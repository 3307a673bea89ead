"""The database rows that a benchmark needs: synthetic ops, tasks, and an API key with a very high rate limit."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Value
from django.db.models.functions import Concat
from django.test import Client as HttpClient
from django.utils import timezone

from benchmarks import synthetic
from gateway.access import api_keys
from gateway.models import Client
from registry.models import Connection, Example, Group, Op, OpAlias, PolicyRule
from registry.releases import publishing
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import OP_FIELDS
from registry.snapshot.entries import OpEntry
from workspace.models import Project, Task

TASK_COUNT = 500
RATE_LIMIT = 1_000_000  # requests per second: the limiter runs but never refuses
ACTOR = "benchmarks"


def create_ops(number: int) -> None:
    """Write the four real ops and this many synthetic ops into the draft of an empty database."""
    entries = [synthetic.READ, synthetic.READ_BY_ORM, synthetic.WRITE, synthetic.WAIT, *synthetic.build_ops(number)]
    Group.objects.bulk_create(
        Group(path=path, summary=summary) for path, summary in synthetic.build_groups(entries).items()
    )
    connection = Connection.objects.create(name=synthetic.CONNECTION)
    ops = Op.objects.bulk_create([_build_op(entry, connection) for entry in entries], batch_size=500)
    rows_by_model: dict[type, list[Any]] = defaultdict(list)
    for op, entry in zip(ops, entries, strict=True):
        for child in _build_children(op, entry):
            rows_by_model[type(child)].append(child)
    for model, model_rows in rows_by_model.items():
        model._default_manager.bulk_create(model_rows, batch_size=500)  # type: ignore[attr-defined]


def publish_draft() -> str:
    """Publish the draft and return the release's version."""
    accepted = "Benchmark data, never shown to a model"
    return publishing.publish_draft(note="Benchmark", by=ACTOR, at=timezone.now(), accepted=accepted).version


def create_api_key() -> str:
    """Create an API key with all scopes and return its plaintext."""
    _, plaintext = api_keys.issue(client=Client.objects.create(name=ACTOR), by=ACTOR, rate=RATE_LIMIT)
    return plaintext


def create_tasks() -> list[str]:
    """Create a project with tasks and return the task ids."""
    project = Project.objects.create(name="Benchmark", type_key="project.technical.benchmark", created_by=ACTOR)
    tasks = [Task(project=project, title=f"Task {number}", created_by=ACTOR) for number in range(TASK_COUNT)]
    return [str(task.pk) for task in Task.objects.bulk_create(tasks)]


def edit_ops(number: int) -> None:
    """Change the summaries of some ops of the draft, evenly spread over all ops."""
    names = list(Op.objects.order_by("op").values_list("op", flat=True))
    chosen = names[:: max(1, len(names) // number)][:number]
    summary = Concat("summary", Value(", as agreed"))
    Op.objects.filter(op__in=chosen).update(summary=summary, updated_at=timezone.now())


def create_admin_session() -> str:
    """Return the session cookie of a logged-in admin."""
    user = User.objects.create_superuser(ACTOR)
    client = HttpClient()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].OutputString(attrs=[])


def _build_op(entry: Mapping[str, Any], connection: Connection) -> Op:
    return Op(connection=connection, **{name: value for name, value in entry.items() if name in OP_FIELDS})


def _build_children(op: Op, entry: OpEntry) -> list[Any]:
    kinds = {key: kind for kind, key in snapshot.POLICY_KEYS.items()}
    rules = [
        PolicyRule(op=op, kind=kinds[key], text=text, position=position)
        for key, texts in entry.get("policy", {}).items()
        for position, text in enumerate(texts)
    ]
    examples = [Example(op=op, position=at, **said) for at, said in enumerate(entry.get("examples", []))]
    return [*rules, *examples, *(OpAlias(op=op, name=name) for name in entry.get("aliases", []))]
