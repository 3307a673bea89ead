"""How many malformed calls succeed by what their errors say, and what an error costs.

The corpus has one call a line: `op`, `args` and perhaps `extra` (members beside args) as a model sends them, and
`wanted`, the op and the arguments that must run in the end: a value, {{any}}, {{from 1 to 2}} for a number, or
{{days 7 to 13}} for a date so many days from today. Calls of the split `test` were never used to improve the repairs.
The client knows nothing but the envelopes. All calls are dry runs on the demo workspace and the example shop.
"""

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from benchmarks.demo_calls import Envelope, send_call
from benchmarks.figures import BenchmarkFigure, compute_percentile
from core.text import token_budget
from gateway.access.request_context import UserContext
from gateway.arguments import normalise
from registry.catalog import cache
from workspace.demo.rows import get_demo_id

CORPUS = Path(__file__).parents[1] / "tests" / "data" / "malformed_calls.jsonl"
SHOP = "shop."  # the group of the example shop
MAX_CALLS = 4  # a model that has not succeeded by then gives up
ZONE = ZoneInfo("Europe/Berlin")  # of the demo user

_PLACEHOLDER = re.compile(
    r"\{\{(?:(?P<kind>[a-z]+):(?P<number>[0-9]+)|(?P<unit>now|date)(?P<days>[+-][0-9]+)d|"
    r"weekday:(?P<weekday>[a-z]+))\}\}"
)
_ANY = "{{any}}"
_RANGE = re.compile(r"\{\{from (?P<lowest>[0-9.]+) to (?P<highest>[0-9.]+)\}\}")
_DAYS = re.compile(r"\{\{days (?P<first>-?[0-9]+) to (?P<last>-?[0-9]+)\}\}")  # from today, in ZONE
_NOT_REACHED = ("not_configured", "address_refused")  # the call is right, and the service is not set up here
HELD_OUT = "test"  # the split of calls that the repairs have never been improved with
_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True)
class RepairedCall:
    """What became of one malformed call: the calls sent, the envelopes of its errors, and whether it succeeded."""

    id: str
    kind: str
    split: str
    is_repaired: bool
    calls: list[dict[str, Any]]
    errors: list[Envelope]
    problem: str = ""

    @property
    def error_tokens(self) -> list[int]:
        """The tokens of each error, without meta.operation: that is for the chat to show, not for the model."""
        return [token_budget.count(orjson.dumps(_leave_out_operation(error)).decode()) for error in self.errors]


def _leave_out_operation(envelope: Envelope) -> Envelope:
    return {**envelope, "meta": {name: value for name, value in envelope["meta"].items() if name != "operation"}}


def build_figures(results: Sequence[RepairedCall], by_tool_name: Sequence[RepairedCall]) -> list[BenchmarkFigure]:
    """Return the share of repaired calls, by path and by tool name, and the cost of the errors of the first."""
    costs = [cost for result in results for cost in result.error_tokens]
    against = f"{len(results)} malformed calls, {len(costs)} errors"
    held_out = [result for result in results if result.split == HELD_OUT]
    return [
        BenchmarkFigure("repair.rate", _compute_rate(results), "", against),
        BenchmarkFigure("repair.held_out.rate", _compute_rate(held_out), "", f"{len(held_out)} calls held out"),
        BenchmarkFigure("repair.tokens_p90", round(compute_percentile(costs, 90)), "tokens", against),
        BenchmarkFigure(
            "repair.tool_names.rate", _compute_rate(by_tool_name), "", f"{len(by_tool_name)} calls of typed tools"
        ),
    ]


def _compute_rate(results: Sequence[RepairedCall]) -> float:
    return round(statistics.fmean(result.is_repaired for result in results), 3)


def count_by_kind(results: Sequence[RepairedCall]) -> dict[str, tuple[int, int]]:
    """Return for each kind of mistake how many of its calls were repaired, and how many there are."""
    counts: defaultdict[str, list[bool]] = defaultdict(list)
    for result in results:
        counts[result.kind].append(result.is_repaired)
    return {kind: (sum(repaired), len(repaired)) for kind, repaired in counts.items()}


def replay_corpus(path: Path, *, use_tool_names: bool = False, every: int = 1) -> Iterator[RepairedCall]:
    """Send each call of a corpus, or `every` nth, and then what its errors say, until it runs or nothing is said.

    Calls of ops of the example shop are left out where it is not connected.

    With tool names, each call is sent as on a surface that shows one tool for each op: onto_task_list.
    """
    at = datetime.now(UTC)
    for line in path.read_text().splitlines()[::every]:
        entry = _fill_placeholders(json.loads(line), at)
        if entry["op"].startswith(SHOP) and cache.get_live_catalog().find_op(entry["wanted"]["op"]) is None:
            continue
        name = _write_as_tool_name(entry["op"]) if use_tool_names else entry["op"]
        body = {"op": name, "args": entry["args"], **entry.get("extra", {})}
        yield _replay(entry, body)


def correct_call(body: dict[str, Any], envelope: Envelope) -> dict[str, Any] | None:
    """Return the call that an error asks for, None if it asks for nothing that a program understands."""
    details = envelope["error"]["details"]
    if call := details.get("retry_with"):
        return dict(call)
    if ops := details.get("did_you_mean"):
        return {"op": ops[0], "args": body["args"]}
    args = body.get("args")
    if not isinstance(args, dict):
        return None
    args = dict(args)
    for error in details["field_errors"]:
        name = error["path"].removeprefix("/")
        if error["code"] == "ambiguous_title" and name in args:
            args[name] = error["expected"][0]["id"]
        elif error["code"] == "unknown_argument" and name in args:
            value = args.pop(name)
            if error.get("expected"):
                args.setdefault(error["expected"], value)
    return None if args == body["args"] else {"op": body["op"], "args": args}


def _write_as_tool_name(name: str) -> str:
    """Return the tool name of an op; of a name that no op has, what a model makes of it."""
    op = cache.get_live_catalog().find_op(name)
    return op.tool_name if op else name.replace(".", "_")


def _replay(entry: dict[str, Any], body: dict[str, Any]) -> RepairedCall:
    context = UserContext(type="project", project_id=entry.get("context", {}).get("project_id", ""))
    calls: list[dict[str, Any]] = []
    errors: list[Envelope] = []
    envelope: Envelope = {}
    next_body: dict[str, Any] | None = body
    while next_body is not None and len(calls) < MAX_CALLS:
        calls.append(next_body)
        envelope = send_call(next_body, context=context)
        if envelope["ok"] or envelope["error"]["details"]["reason"] in _NOT_REACHED:
            break
        errors.append(envelope)
        next_body = correct_call(next_body, envelope)
    problem = _find_problem(entry["wanted"], calls[-1], envelope, context)
    return RepairedCall(entry["id"], entry["kind"], entry.get("split", ""), not problem, calls, errors, problem)


def _find_problem(wanted: dict[str, Any], body: dict[str, Any], envelope: Envelope, context: UserContext) -> str:
    """Return why the last call is not the wanted one, empty if it is."""
    if not envelope["ok"] and envelope["error"]["details"]["reason"] not in _NOT_REACHED:
        return f"refused: {envelope['error']['message']}"
    catalog = cache.get_live_catalog()
    path = envelope["meta"].get("executed_op") or envelope["op"]
    if path != wanted["op"]:
        return f"{path} ran"
    args = normalise.normalise_args(catalog.ops[path], body["args"], context).args
    wrong = [name for name, value in wanted["args"].items() if not _matches(value, args.get(name))]
    return f"other values of {', '.join(wrong)}: {[args.get(name) for name in wrong]}" if wrong else ""


def _matches(wanted: Any, sent: Any) -> bool:
    if wanted == _ANY:
        return sent is not None
    if isinstance(wanted, str) and (span := _RANGE.fullmatch(wanted)):
        return isinstance(sent, int | float) and float(span["lowest"]) <= sent <= float(span["highest"])
    if isinstance(wanted, str) and (days := _DAYS.fullmatch(wanted)):
        return isinstance(sent, str) and int(days["first"]) <= _count_days_from_today(sent) <= int(days["last"])
    if isinstance(wanted, dict):
        return isinstance(sent, dict) and all(_matches(value, sent.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(sent, list) and len(sent) == len(wanted) and all(map(_matches, wanted, sent))
    if isinstance(wanted, str) and isinstance(sent, str) and _DATE_TIME.match(wanted) and _DATE_TIME.match(sent):
        return _parse_moment(wanted) == _parse_moment(sent)
    return bool(wanted == sent)


def _count_days_from_today(text: str) -> int:
    return (_parse_moment(text).astimezone(ZONE).date() - datetime.now(ZONE).date()).days


def _parse_moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text.upper())
    return moment.replace(tzinfo=ZONE) if moment.tzinfo is None else moment


def _fill_placeholders(value: Any, at: datetime) -> Any:
    if isinstance(value, dict):
        return {name: _fill_placeholders(item, at) for name, item in value.items()}
    if isinstance(value, list):
        return [_fill_placeholders(item, at) for item in value]
    return _PLACEHOLDER.sub(lambda found: _resolve(found, at), value) if isinstance(value, str) else value


def _resolve(found: re.Match[str], at: datetime) -> str:
    today = at.astimezone(ZONE).date()
    if found["kind"] and found["number"]:
        return get_demo_id(found["kind"], int(found["number"]))
    if found["weekday"]:
        return _find_next(today, _WEEKDAYS.index(found["weekday"])).isoformat()
    days = timedelta(days=int(found["days"]))
    if found["unit"] == "date":
        return (today + days).isoformat()
    return (at + days).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _find_next(day: date, weekday: int) -> date:
    return day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1)
