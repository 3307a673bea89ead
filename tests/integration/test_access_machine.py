"""Nobody learns of a row or changes one that is not theirs, whatever is called in whatever order with whatever ids.

Each call is made twice: in the world as it is, and before that, to be undone, in a world where nothing was ever there
that the caller cannot see. The two answers must be the same. That holds what a foreign id is answered (an id that
never was), and also counts, orders, suggestions and pages.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from analytics.events import event_log
from analytics.models import OperationEvent
from gateway.contracts.validation import get_subschema
from registry.catalog.model import Catalog
from registry.files import loader
from tests.support import access_world
from tests.support.access_world import CANARY, MEMBER, MODELS, OWNER, SUBJECTS
from tests.support.api import Api
from tests.support.cpu_budget import examples
from tests.support.fake_internet import Outside
from tests.support.hostile_arguments import arguments, id_slots
from workspace.demo.rows import get_demo_id
from workspace.models import MemberRole, Membership, Project

OPS = {op["op"]: op for op in loader.read_shipped_catalog()["ops"]}
SLOTS = {path: slots for path, op in OPS.items() if (slots := list(id_slots(op["parameters_schema"])))}

CURSOR = re.compile(r'(?<="next_cursor": )"[^"]+"')

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
# What a search could find a foreign row by. No whole canary, which a row of the caller's own would then hold, too.
TEXTS = st.sampled_from([CANARY, f"{CANARY}a", f"{CANARY}aa", "canarry", "canary or so", "a plain text"])

NEVER_WAS = "11111111-2222-4333-8444-555555555555"

# `make test` looks at some hundred calls, `make test-all` at ten times as many.
machine_settings = settings(
    max_examples=examples(10),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class World:
    """The subjects' chat services, and the rows that they must not see of each other."""

    def __init__(self, key: str) -> None:
        self.apis = {subject: Api(key, subject) for subject in SUBJECTS}
        self.seeds = access_world.build()
        self.shared = Membership.objects.get(subject=MEMBER, deleted_at=None, project__deleted_at=None).pk
        self.ids = [(MODELS[seed.kind]._meta.label, seed.id) for seed in self.seeds]  # in the order of their making
        self.cursors: list[str] = []

    def call(self, subject: str, op: str, args: dict[str, Any]) -> dict[str, Any]:
        """Make a call in both worlds and return its envelope, once all that must hold has been found to."""
        before = access_world.snapshot()
        sees = access_world.project_ids(subject)
        changes = access_world.project_ids(subject, changing=True)
        seen = access_world.visible(before, sees)
        sent = set(UUID.findall(json.dumps(args)))

        with transaction.atomic():
            access_world.erase(keeping=sees, also=sent - seen)
            alone = self._answer(subject, op, args)
            transaction.set_rollback(True)
        told = self._answer(subject, op, args)

        after = access_world.snapshot()
        now_sees = access_world.project_ids(subject)
        seen |= access_world.visible(after, now_sees)
        self._assert_silent(told, {id for _, id in before.keys() | after.keys()} - seen - sent)
        self._assert_untouched(before, after, changes, new=now_sees - sees)
        known = {id for _, id in before} | sent
        assert _comparable(told, known) == _comparable(alone, known), "a row that is not theirs changed the answer"
        self.ids += sorted(after.keys() - before.keys(), key=lambda key: (key[0], str(after[key].get("props"))))
        envelope: dict[str, Any] = told[1]
        self.cursors += filter(None, [envelope.get("result", {}).get("next_cursor")])
        return envelope

    def _answer(self, subject: str, op: str, args: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any], list[Any]]:
        """Return the headers, the envelope and the events of a call."""
        OperationEvent.objects.all().delete()
        response = self.apis[subject].post("exec", {"op": op, "args": args})
        event_log.flush()
        assert response.status_code < 500, response.content
        return dict(response.headers), response.json(), list(OperationEvent.objects.values())

    def _assert_silent(self, told: Any, hidden: set[str]) -> None:
        said = access_world.written(told).lower()
        assert not [seed for seed in self.seeds if seed.id in hidden and seed.canary in said]
        assert not hidden & set(UUID.findall(said))

    def _assert_untouched(self, before: Any, after: Any, changes: set[Any], *, new: set[Any]) -> None:
        """Only rows of projects that the caller may change are changed, and only into rows of such projects."""
        for key in before.keys() | after.keys():
            if before.get(key) != after.get(key):
                places = {access_world.project_of(key, row[key]) for row in (before, after) if key in row}
                assert places <= changes | new, key


def _comparable(told: tuple[dict[str, str], dict[str, Any], list[Any]], known: set[str]) -> tuple[Any, ...]:
    """Return what was told but for what differs from call to call: the trace, how long it took, new ids, the time."""
    headers, envelope, recorded = told
    meta = {name: value for name, value in envelope["meta"].items() if name not in ("trace_id", "latency_ms")}
    kept = [{k: v for k, v in row.items() if k not in ("id", "trace_id", "latency_ms", "time")} for row in recorded]
    said = access_world.written([sorted(set(headers) - {"Content-Length"}), envelope | {"meta": meta}, kept])
    if '"time_range"' in said:  # an agenda's cursor holds the time that its list is of, which counts from now
        said = CURSOR.sub('"<cursor>"', said)
    said = UUID.sub(lambda found: found[0] if found[0] in known else "<new id>", said)
    return json.loads(TIME.sub(lambda found: "<now>" if found[0] > "2026-04-01U" else found[0], said))


def _kind_of(op: str, slot: str | int) -> str | None:
    """Return the kind of row that a slot takes the id of; a parent is of the kind that the op is about."""
    if str(slot).endswith("parent_id"):
        return str(OPS[op]["entity"])
    return next((kind for kind in MODELS if str(slot).endswith(f"{kind}_id")), None)


def _of_own(args: Any, own: dict[str, list[str]]) -> Any:
    """Return an example's args with the ids of the demo's rows replaced by those of rows of the same kinds."""
    if isinstance(args, dict):
        return {name: _of_own(value, own) for name, value in args.items()}
    if isinstance(args, list):
        return [_of_own(value, own) for value in args]
    kind = next((kind for kind in MODELS if str(args)[:-2] == get_demo_id(kind, 1)[:-2]), None)
    return own[kind][int(args[-2:]) % 2 - 1] if kind else args


def _by_kind(op: str, slot: tuple[str | int, ...], args: Any) -> Iterator[tuple[str, Any]]:
    """Yield each kind of row whose id a slot takes, and the args that say so where an argument beside it names it."""
    name = str(slot[-1])
    beside = (*slot[:-1], f"{name.removesuffix('id')}kind")
    if kinds := get_subschema(OPS[op]["parameters_schema"], list(beside)).get("enum"):
        yield from ((kind, _with(args, beside, kind)) for kind in kinds)
    else:
        named = _kind_of(op, name)
        yield from ((kind, args) for kind in ([named] if named else MODELS))


def _with(args: Any, slot: tuple[str | int, ...], id: str) -> Any:
    """Return the args with the id at that path."""
    if not slot:
        return id
    name, *rest = slot
    if isinstance(name, int):
        return [_with(args[name] if args else None, tuple(rest), id)]
    return (args or {}) | {name: _with((args or {}).get(name), tuple(rest), id)}


@pytest.fixture
def make_world(live_catalog: Catalog, make_key: Callable[..., str], search_endpoint: Outside) -> Callable[[], World]:
    """Return a maker of worlds; the demo workspace is not in them."""
    Project.objects.all().delete()
    key = make_key()
    return lambda: World(key)


@pytest.mark.both_databases
def test_nothing_is_told_or_changed_across_subjects(make_world: Callable[[], World]) -> None:
    class Machine(RuleBasedStateMachine):
        @initialize()
        def begin(self) -> None:
            self.undone = transaction.atomic()
            self.undone.__enter__()
            self.world = make_world()

        @rule(data=st.data(), subject=st.sampled_from(SUBJECTS), op=st.sampled_from(sorted(OPS)))
        def call(self, data: st.DataObject, subject: str, op: str) -> None:
            texts = st.one_of(TEXTS, st.sampled_from(self.world.cursors)) if self.world.cursors else TEXTS
            args = arguments(
                data.draw, OPS[op]["parameters_schema"], ids=lambda name: self.ids(subject, op, name), texts=texts
            )
            self.world.call(subject, op, args)

        @rule(role=st.sampled_from(MemberRole), left=st.booleans())
        def share(self, role: MemberRole, left: bool) -> None:
            """Give the member another role in the project that is shared, or take the project away."""
            place = Membership.objects.filter(pk=self.world.shared)
            place.update(role=role, deleted_at=access_world.MADE_AT if left else None)

        def ids(self, subject: str, op: str, name: str) -> st.SearchStrategy[str]:
            """Most ids are of rows that the subject sees, others foreign, deleted, or never were."""
            rows = access_world.snapshot()
            seen = access_world.visible(rows, access_world.project_ids(subject))
            kind = _kind_of(op, name)
            made = self.world.ids
            fitting = [id for label, id in made if kind is None or label == MODELS[kind]._meta.label]
            own = [id for id in fitting if id in seen]
            unseen = [id for id in fitting if id not in seen]
            sorts = [own, own, own, own, own, unseen, [id for _, id in made], [NEVER_WAS]]
            return st.sampled_from([ids for ids in sorts if ids]).flatmap(st.sampled_from)

        def teardown(self) -> None:
            if hasattr(self, "undone"):
                transaction.set_rollback(True)
                self.undone.__exit__(None, None, None)

    run_state_machine_as_test(Machine, settings=machine_settings)


def test_no_id_slot_takes_what_is_foreign_or_deleted(make_world: Callable[[], World]) -> None:
    world = make_world()
    rows = access_world.snapshot()
    seen = {subject: access_world.visible(rows, access_world.project_ids(subject)) for subject in SUBJECTS}
    own = {kind: [seed.id for seed in world.seeds if seed.kind == kind and seed.id in seen[OWNER]] for kind in MODELS}

    for op, slots in SLOTS.items():
        good = _accepted(world, op, own)  # so that it is the id that is refused
        for slot, kind, args in [(each, *named) for each in slots for named in _by_kind(op, each, good)]:
            # One subject will do where a slot takes rows of many kinds: the member, for whom rows hide in all ways.
            for subject in SUBJECTS if _kind_of(op, slot[-1]) else (MEMBER,):
                for id in _unseen(world, kind, seen[subject], seen):
                    refused = world.call(subject, op, _with(args, slot, id))
                    assert not refused["ok"], (op, slot, subject, id)
                    if args is not good and id not in good.values():  # with its kind: it is that row that is refused
                        assert refused["error"]["code"] == "NOT_FOUND", (op, slot, subject, id)


def _accepted(world: World, op: str, own: dict[str, list[str]]) -> Any:
    """Return the args of an example that the owner could call with rows of its own."""
    for example in OPS[op]["examples"]:
        args = _of_own(example["args"], own)
        with transaction.atomic():
            ok = world.call(OWNER, op, args)["ok"]
            transaction.set_rollback(True)
        if ok:
            return args
    raise AssertionError(f"No example of {op} could be called with rows of the owner.")


def _unseen(world: World, kind: str, seen: set[str], by: dict[str, set[str]]) -> list[str]:
    """Return a row that a subject does not see of each sort: seen by these others, or by none; and where it lies."""
    sorts: dict[Any, str] = {}
    for seed in world.seeds:
        if seed.kind == kind and seed.id not in seen:
            sorts.setdefault((tuple(seed.id in theirs for theirs in by.values()), seed.project in seen), seed.id)
    return list(sorts.values())
