"""No sequence of calls shows or changes rows that the caller cannot see.

Each call is made twice: first in a world without the rows that the caller cannot see, which is undone, then in the
whole world. Both responses must be equal. This covers the response to another subject's id, which must be that of an
unknown id, and also counts, orders, suggestions and pages.
"""

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from analytics.events import event_log
from analytics.events.models import OperationEvent
from gateway.contracts.validation import get_subschema
from registry.catalog.model import Catalog
from registry.files import loader
from tests.support.clients.api import Api
from tests.support.cpu_budget import examples, is_thorough
from tests.support.rows import access_world
from tests.support.rows.access_world import CANARY, MEMBER, MODELS, OWNER, SUBJECTS
from tests.support.upstreams.fake_internet import FakeInternet
from tests.support.values.hostile_arguments import draw_arguments, iterate_id_slots
from workspace.demo.rows import get_demo_id
from workspace.models import MemberRole, Membership, Project

OPS = {op["op"]: op for op in loader.read_shipped_catalog()["ops"]}
SLOTS = {path: slots for path, op in OPS.items() if (slots := list(iterate_id_slots(op["parameters_schema"])))}

CURSOR = re.compile(r'(?<="next_cursor": )"[^"]+"')

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
# Texts that find other subjects' rows. Not a complete canary, because the caller's own new rows may contain it.
SEARCH_TEXTS = st.sampled_from([CANARY, f"{CANARY}a", f"{CANARY}aa", "canarry", "canary or so", "a plain text"])

SHARE = 0.3  # of the pairs of an argument and an invisible row that `make test` tries
UNKNOWN_ID = "11111111-2222-4333-8444-555555555555"

# `make test` makes some hundred calls, `make test-all` ten times as many.
machine_settings = settings(
    max_examples=examples(6), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


class World:
    """An API client for each subject, and rows that they must not see of each other."""

    def __init__(self, key: str) -> None:
        self.apis = {subject: Api(key, subject) for subject in SUBJECTS}
        self.seeds = access_world.create_world()
        self.shared = Membership.objects.get(subject=MEMBER, deleted_at=None, project__deleted_at=None).pk
        self.ids = [(MODELS[seed.kind]._meta.label, seed.id) for seed in self.seeds]  # in order of creation
        self.cursors: list[str] = []

    def call(self, subject: str, op: str, args: dict[str, Any]) -> dict[str, Any]:
        """Make a call in both worlds, check everything that must hold, and return the envelope."""
        before = access_world.take_snapshot()
        visible_projects = access_world.find_visible_projects(subject)
        changeable_projects = access_world.find_visible_projects(subject, changing=True)
        visible = access_world.find_visible_ids(before, visible_projects)
        sent_ids = set(UUID.findall(json.dumps(args)))

        with transaction.atomic():
            access_world.erase_other_rows(keeping=visible_projects, also=sent_ids - visible)
            expected = self._send(subject, op, args)
            transaction.set_rollback(True)
        actual = self._send(subject, op, args)

        after = access_world.take_snapshot()
        visible_after = access_world.find_visible_projects(subject)
        visible |= access_world.find_visible_ids(after, visible_after)
        self._assert_no_hidden_row(actual, {id for _, id in before.keys() | after.keys()} - visible - sent_ids)
        self._assert_no_forbidden_change(before, after, changeable_projects, new=visible_after - visible_projects)
        known = {id for _, id in before} | sent_ids
        assert _remove_differences(actual, known) == _remove_differences(expected, known), (
            "an invisible row changed the response"
        )
        self.ids += sorted(after.keys() - before.keys(), key=lambda key: (key[0], str(after[key].get("props"))))
        envelope: dict[str, Any] = actual[1]
        self.cursors += filter(None, [envelope.get("result", {}).get("next_cursor")])
        return envelope

    def _send(self, subject: str, op: str, args: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any], list[Any]]:
        """Return the headers, the envelope and the events of a call."""
        OperationEvent.objects.all().delete()
        response = self.apis[subject].post("exec", {"op": op, "args": args})
        event_log.flush()
        assert response.status_code < 500, response.content
        return dict(response.headers), response.json(), list(OperationEvent.objects.values())

    def _assert_no_hidden_row(self, response: Any, hidden: set[str]) -> None:
        text = access_world.dump_json(response).lower()
        assert not [seed for seed in self.seeds if seed.id in hidden and seed.canary in text]
        assert not hidden & set(UUID.findall(text))

    def _assert_no_forbidden_change(self, before: Any, after: Any, changes: set[Any], *, new: set[Any]) -> None:
        """Check that changed rows were and are in projects that the caller may change."""
        for key in before.keys() | after.keys():
            if before.get(key) != after.get(key):
                projects = {access_world.get_project(key, row[key]) for row in (before, after) if key in row}
                assert projects <= changes | new, key


def _remove_differences(response: tuple[dict[str, str], dict[str, Any], list[Any]], known: set[str]) -> tuple[Any, ...]:
    """Return a response without what differs from call to call: trace id, latency, new ids, times."""
    headers, envelope, events = response
    meta = {name: value for name, value in envelope["meta"].items() if name not in ("trace_id", "latency_ms")}
    if "undo" in meta:  # with the id of the write, which counts all writes
        meta["undo"] = "<new id>"
    events = [{k: v for k, v in row.items() if k not in ("id", "trace_id", "latency_ms", "time")} for row in events]
    text = access_world.dump_json([sorted(set(headers) - {"Content-Length"}), envelope | {"meta": meta}, events])
    if '"time_range"' in text:  # the cursor of an agenda contains its time range, which starts now
        text = CURSOR.sub('"<cursor>"', text)
    text = UUID.sub(lambda match: match[0] if match[0] in known else "<new id>", text)
    return json.loads(TIME.sub(lambda match: "<now>" if match[0] > "2026-04-01U" else match[0], text))


def _get_kind(op: str, slot: str | int) -> str | None:
    """Return the kind of row whose id a slot takes. A parent has the kind of the op."""
    if str(slot).endswith("parent_id"):
        return str(OPS[op]["entity"])
    return next((kind for kind in MODELS if str(slot).endswith(f"{kind}_id")), None)


def _replace_demo_ids(args: Any, own: dict[str, list[str]]) -> Any:
    """Return args of an example with the ids of demo rows replaced by ids of own rows of the same kinds."""
    if isinstance(args, dict):
        return {name: _replace_demo_ids(value, own) for name, value in args.items()}
    if isinstance(args, list):
        return [_replace_demo_ids(value, own) for value in args]
    kind = next((kind for kind in MODELS if str(args)[:-2] == get_demo_id(kind, 1)[:-2]), None)
    return own[kind][int(args[-2:]) % 2 - 1] if kind else args


def _iterate_kinds(op: str, slot: tuple[str | int, ...], args: Any) -> Iterator[tuple[str, Any]]:
    """Yield each kind of row whose id a slot takes, and args that name the kind if another argument does so."""
    name = str(slot[-1])
    kind_slot = (*slot[:-1], f"{name.removesuffix('id')}kind")
    if kinds := get_subschema(OPS[op]["parameters_schema"], list(kind_slot)).get("enum"):
        yield from ((kind, _set_slot(args, kind_slot, kind)) for kind in kinds)
    else:
        name_kind = _get_kind(op, name)
        yield from ((kind, args) for kind in ([name_kind] if name_kind else MODELS))


def _set_slot(args: Any, slot: tuple[str | int, ...], id: str) -> Any:
    """Return args with an id at a slot."""
    if not slot:
        return id
    name, *rest = slot
    if isinstance(name, int):
        return [_set_slot(args[name] if args else None, tuple(rest), id)]
    return (args or {}) | {name: _set_slot((args or {}).get(name), tuple(rest), id)}


@pytest.fixture
def make_world(
    live_catalog: Catalog, make_key: Callable[..., str], search_endpoint: FakeInternet
) -> Callable[[], World]:
    """Return a function that creates a world without the demo workspace."""
    Project.objects.all().delete()
    key = make_key()
    return lambda: World(key)


@pytest.mark.both_databases
def test_calls_never_show_or_change_rows_of_other_subjects(make_world: Callable[[], World]) -> None:
    class Machine(RuleBasedStateMachine):
        @initialize()
        def begin(self) -> None:
            self.undone = transaction.atomic()
            self.undone.__enter__()
            self.world = make_world()

        @rule(data=st.data(), subject=st.sampled_from(SUBJECTS), op=st.sampled_from(sorted(OPS)))
        def call(self, data: st.DataObject, subject: str, op: str) -> None:
            texts = st.one_of(SEARCH_TEXTS, st.sampled_from(self.world.cursors)) if self.world.cursors else SEARCH_TEXTS
            args = draw_arguments(
                data.draw, OPS[op]["parameters_schema"], ids=lambda name: self.ids(subject, op, name), texts=texts
            )
            self.world.call(subject, op, args)

        @rule(role=st.sampled_from(MemberRole), is_removed=st.booleans())
        def share(self, role: MemberRole, is_removed: bool) -> None:
            """Change the member's role in the shared project, or remove the member."""
            membership = Membership.objects.filter(pk=self.world.shared)
            membership.update(role=role, deleted_at=access_world.MADE_AT if is_removed else None)

        def ids(self, subject: str, op: str, name: str) -> st.SearchStrategy[str]:
            """Return ids: most of visible rows, some of other subjects' or deleted rows, some unknown."""
            rows = access_world.take_snapshot()
            visible = access_world.find_visible_ids(rows, access_world.find_visible_projects(subject))
            kind = _get_kind(op, name)
            all_ids = self.world.ids
            ids_of_kind = [id for label, id in all_ids if kind is None or label == MODELS[kind]._meta.label]
            own = [id for id in ids_of_kind if id in visible]
            invisible = [id for id in ids_of_kind if id not in visible]
            choices = [own, own, own, own, own, invisible, [id for _, id in all_ids], [UNKNOWN_ID]]
            return st.sampled_from([ids for ids in choices if ids]).flatmap(st.sampled_from)

        def teardown(self) -> None:
            if hasattr(self, "undone"):
                transaction.set_rollback(True)
                self.undone.__exit__(None, None, None)

    run_state_machine_as_test(Machine, settings=machine_settings)


def test_id_arguments_refuse_invisible_and_deleted_rows(make_world: Callable[[], World]) -> None:
    world = make_world()
    rows = access_world.take_snapshot()
    visible = {
        subject: access_world.find_visible_ids(rows, access_world.find_visible_projects(subject))
        for subject in SUBJECTS
    }
    own = {
        kind: [seed.id for seed in world.seeds if seed.kind == kind and seed.id in visible[OWNER]] for kind in MODELS
    }

    for op, slots in SLOTS.items():
        valid = _find_valid_args(world, op, own)  # so that only the id can be refused
        for slot, kind, args in [(each, *kind_args) for each in slots for kind_args in _iterate_kinds(op, each, valid)]:
            # For a slot that takes many kinds the member is enough: for the member, rows are invisible in all ways.
            for subject in SUBJECTS if is_thorough() and _get_kind(op, slot[-1]) else (MEMBER,):
                for id in _pick_invisible_ids(world, kind, visible[subject], visible):
                    if random.random() > SHARE and not is_thorough():
                        continue
                    refused = world.call(subject, op, _set_slot(args, slot, id))
                    assert not refused["ok"], (op, slot, subject, id)
                    if args is not valid and id not in valid.values():  # the args name its kind, so the row is found
                        assert refused["error"]["code"] == "NOT_FOUND", (op, slot, subject, id)


def _find_valid_args(world: World, op: str, own: dict[str, list[str]]) -> Any:
    """Return args of an example that succeed for the owner with its own rows."""
    for example in OPS[op]["examples"]:
        args = _replace_demo_ids(example["args"], own)
        with transaction.atomic():
            ok = world.call(OWNER, op, args)["ok"]
            transaction.set_rollback(True)
        if ok:
            return args
    raise AssertionError(f"No example of {op} could be called with rows of the owner.")


def _pick_invisible_ids(world: World, kind: str, visible: set[str], visible_to: dict[str, set[str]]) -> list[str]:
    """Return one invisible row for each combination of who else sees it and whether its project is visible."""
    rows: dict[Any, str] = {}
    for seed in world.seeds:
        if seed.kind == kind and seed.id not in visible:
            rows.setdefault((tuple(seed.id in ids for ids in visible_to.values()), seed.project in visible), seed.id)
    return list(rows.values())
