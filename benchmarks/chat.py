"""The chat: how soon an answer begins, what many streams cost, and how small the context is.

Gateway and chat run as in `make run`: the gateway with two workers, the chat with one, on SQLite.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import orjson
from django.conf import settings

from benchmarks import load, usage
from benchmarks.chat_load import (
    build_list_request,
    build_message,
    collect_stream,
    read_streams,
    serve_model,
    serve_recorded,
)
from benchmarks.figures import BenchmarkFigure, compute_percentile
from benchmarks.lab import Lab
from benchmarks.load import Address
from benchmarks.run_size import shorten, shrink
from chat.context.handles import RowHandles
from chat.context.history import PastTurn, build_past_messages
from chat.context.layers import PastCall, PastStep
from core.text import token_budget

SCRIPTED_MESSAGE = "What is on my plate? Show my high-priority tasks."
TEN, NEW_A_SECOND, NEW_SECONDS = 10, 40, 5
STREAMS, EVENTS_A_SECOND = 200, 20
STARTS_A_SECOND = 10  # of those streams
WARM_UP_SECONDS, MEASURED_SECONDS = 4, 10
DEMO_PROJECT = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"
DEMO_SUBJECT = "demo-user"
READ = {"op": "onto.task.list", "args": {"limit": 5}}
MOST_ROWS = 50
LISTS = (
    ("onto.task.list", {"limit": MOST_ROWS}),
    ("onto.document.list", {"limit": MOST_ROWS}),
    ("onto.task.list", {"limit": MOST_ROWS, "sort_by": "priority"}),
    ("onto.project.list", {"limit": 30}),
    ("onto.task.list", {"limit": MOST_ROWS, "state_key": ["todo", "in_progress", "blocked"]}),
)
NOT_INITIAL = ("tools", "history")  # layers that are not part of the initial context

# Surfaces by their names in figures, and in the evaluation: legacy selects its tools for each message.
TURN_SURFACES = MappingProxyType(
    {"gateway": "gateway", "discovery": "discovery", "hybrid": "hybrid", "legacy": "legacy-dynamic"}
)


@dataclass(frozen=True, slots=True)
class ChatBench:
    """Running servers, and the key that both accept."""

    gateway: Address
    chat: Address
    chat_pid: int
    key: str


def measure_first_token(lab: Lab) -> list[BenchmarkFigure]:
    """Measure the first word of an answer with the scripted model: context, toolset, one list call, then the text."""
    with _serve(lab) as bench:
        times = []
        for round in range(1 + shrink(3)):
            requests = [build_message(bench.key, f"first-{round}-{n}", SCRIPTED_MESSAGE) for n in range(TEN)]
            streams = asyncio.run(read_streams(bench.chat, requests))
            times += [stream.first_text for stream in streams] if round else []  # the first one warms up
    against = f"{TEN} streams at once, scripted model: toolset, context, a list call, then text"
    return [BenchmarkFigure("chat.first_token.p95_ms", compute_percentile(times, 95), "ms", against)]


def measure_streams(lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure new streams, many steady ones, and the gateway's calls in the meantime."""
    first_events = asyncio.run(_measure_new_streams(lab))
    against = f"{NEW_A_SECOND} new streams a second; gateway and model answer at once"
    for percent in (50, 95):
        value = compute_percentile(first_events, percent)
        yield BenchmarkFigure(f"chat.first_event.p{percent}_ms", value, "ms", against)
    yield from asyncio.run(_serve_steady_streams(lab))


def measure_context(lab: Lab) -> list[BenchmarkFigure]:
    """Compare the initial context of a project with everything that gets would load of it."""
    with _serve(lab) as bench:
        context = {"type": "project", "project_id": DEMO_PROJECT}
        layers = _read_layers(bench, context)
        complete = token_budget.count(orjson.dumps(_load_complete_data(bench)).decode())
    initial = sum(layer["tokens"] for layer in layers if layer["name"] not in NOT_INITIAL)
    against = f"project, every task, note and plan of it by get: {complete:,} tokens"
    return [
        BenchmarkFigure("chat.context.tokens", initial, "tokens", "demo project, without history and tools"),
        BenchmarkFigure("chat.context.saved", 1 - initial / complete, "share", against),
    ]


def measure_turn_tokens(_: Lab) -> list[BenchmarkFigure]:
    """Measure the tokens of input that a turn takes on each surface: all requests of the tasks of the evaluation."""
    sessions = _evaluate_surfaces(list(TURN_SURFACES.values()))
    figures = []
    for surface, name in TURN_SURFACES.items():
        own = [each for each in sessions if each["surface"] == name]
        done = sum(each["success"] for each in own)
        tokens = sum(each["input_tokens"] for each in own) / sum(len(each["turns"]) for each in own)
        against = f"{name}, the scripted model; {done} of {len(own)} tasks succeed"
        figures.append(BenchmarkFigure(f"chat.turn.{surface}.tokens", round(tokens), "tokens", against))
    return figures


def _evaluate_surfaces(names: Sequence[str]) -> list[dict[str, Any]]:
    with TemporaryDirectory() as folder:
        file = Path(folder, "evaluation.json")
        command = ["manage.py", "evaluate_surfaces", f"--surfaces={','.join(names)}", "--repeats=1", f"--output={file}"]
        subprocess.run([sys.executable, *command], cwd=settings.BASE_DIR, check=True, capture_output=True)
        return list(json.loads(file.read_text())["sessions"])


def measure_rows_kept(lab: Lab) -> list[BenchmarkFigure]:
    """Measure which rows of lists the model can still name in the request two turns later."""
    with _serve(lab) as bench:
        answers = [_call(bench, op, args) for op, args in LISTS]
    handles = RowHandles([])
    turns = [_build_list_turn(number, answer) for number, answer in enumerate(answers)]
    listed, readable, tokens = 0, 0, 0
    for last in range(2, len(turns) + 1):
        past = [handles.shorten_turn(turn) for turn in turns[:last]]
        messages, layer = build_past_messages(past, summary="")
        request = handles.expand(orjson.dumps(messages).decode())
        ids = [row["id"] for row in _list_rows(answers[last - 2])]
        listed, readable = listed + len(ids), readable + sum(id in request for id in ids)
        tokens = max(tokens, layer["tokens"])
    against = f"{listed} rows of {len(turns) - 1} lists, each two turns before; history of at most {tokens:,} tokens"
    return [BenchmarkFigure("chat.rows.kept", readable / listed, "share", against)]


def _build_list_turn(number: int, answer: dict[str, Any]) -> PastTurn:
    arguments = orjson.dumps({"op": answer["op"], "args": {"limit": MOST_ROWS}}).decode()
    call = PastCall(f"call_{number}", "tool_exec", arguments, orjson.dumps(answer).decode())
    return PastTurn("What is there?", (PastStep("", (call,)),), "Here is the list.")


def _list_rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return next(rows for rows in answer["result"].values() if isinstance(rows, list))


async def _serve_steady_streams(lab: Lab) -> list[BenchmarkFigure]:
    streams = shrink(STREAMS, least=STARTS_A_SECOND)
    seconds = streams // STARTS_A_SECOND + shorten(WARM_UP_SECONDS) + shorten(MEASURED_SECONDS, least=1) + 4
    async with serve_model(per_second=EVENTS_A_SECOND, words=round(EVENTS_A_SECOND * seconds)) as steady:
        with _serve(lab, LLM_BASE_URL=steady, LLM_MODEL="steady") as bench:
            return await _measure_steady_streams(bench, streams)


async def _measure_new_streams(lab: Lab) -> list[float]:
    """Return the milliseconds to the first event of streams that begin one after the other: the chat's own share."""
    demo = lab.get_demo()
    subjects = [f"new-{n}" for n in range(NEW_A_SECOND * shrink(NEW_SECONDS))]
    requests = [build_message(demo.key, subject, "Hello") for subject in subjects]
    async with serve_model(per_second=1_000, words=5) as model:
        with lab.serve_gateway(demo, AGENTIC_CHAT_TOOL_GATEWAY="on") as gateway:
            async with serve_recorded(gateway.address) as url:
                variables = {"CHAT_GATEWAY_KEY": demo.key, "LLM_BASE_URL": model, "LLM_MODEL": "quick"}
                with lab.serve_chat(demo, CHAT_GATEWAY_URL=url, **variables) as chat:
                    await read_streams(chat.address, requests[:TEN])  # warms up
                    for subject in subjects:  # the chat remembers that the gateway accepts the key for them
                        await collect_stream(chat.address, build_list_request(demo.key, subject))
                    new = await read_streams(chat.address, requests, per_second=NEW_A_SECOND)
    return [times.first_event for times in new]


async def _measure_steady_streams(bench: ChatBench, count: int) -> list[BenchmarkFigure]:
    """Measure the chat's worker while many streams get events at a steady pace, and the gateway's reads."""
    requests = [build_message(bench.key, f"steady-{n}", "Hello") for n in range(count)]
    reading = asyncio.create_task(read_streams(bench.chat, requests, per_second=STARTS_A_SECOND))
    await asyncio.sleep(count / STARTS_A_SECOND + shorten(WARM_UP_SECONDS))
    cpu, started = _get_cpu_seconds(bench.chat_pid), time.monotonic()
    latencies = await asyncio.to_thread(_time_reads, bench, shorten(MEASURED_SECONDS, least=1))
    seconds = time.monotonic() - started
    cores = (_get_cpu_seconds(bench.chat_pid) - cpu) / seconds
    memory = usage.get_largest_child_mb(bench.chat_pid)
    streams = await reading
    per_second = sum(times.events for times in streams) / count
    against = f"{count} streams of {EVENTS_A_SECOND} events a second, {per_second:.0f} events each"
    return [
        BenchmarkFigure("chat.streams.cores", cores, "cores", against),
        BenchmarkFigure("chat.streams.mb", memory, "MB", against),
        BenchmarkFigure(
            "chat.exec.p95_ms", compute_percentile(latencies, 95), "ms", f"reads of the gateway, {against}"
        ),
    ]


def _time_reads(bench: ChatBench, seconds: float) -> list[float]:
    """Return the milliseconds of reads, ten a second."""
    request = load.build_request("POST", "/api/v1/exec", _get_headers(bench), orjson.dumps(READ))
    latencies, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        started = time.perf_counter()
        load.send_once(bench.gateway, request)
        latencies.append((time.perf_counter() - started) * 1000)
        time.sleep(0.1)
    return latencies


def _get_cpu_seconds(pid: int) -> float:
    return sum(usage.get_cpu_seconds_by_child(pid).values())


def _get_headers(bench: ChatBench) -> dict[str, str]:
    return {"Authorization": f"Bearer {bench.key}", "Gateway-Subject": DEMO_SUBJECT}


def _read_layers(bench: ChatBench, context: dict[str, str]) -> list[dict[str, Any]]:
    """Return the layers of a turn in a place."""
    body = orjson.dumps({"message": "Hello", "context": context})
    request = load.build_request("POST", "/chat/api/stream", _get_headers(bench) | {"Connection": "close"}, body)
    stream = asyncio.run(collect_stream(bench.chat, request))
    data = stream.partition(b"event: context\ndata: ")[2].partition(b"\n")[0]
    layers: list[dict[str, Any]] = orjson.loads(data)["layers"]
    return layers


def _load_complete_data(bench: ChatBench) -> list[Any]:
    """Return the project with everything that a get includes, and each of its tasks, notes and plans by get."""
    includes = dict.fromkeys(("include_tasks", "include_notes", "include_brain_dumps"), True)
    results = [_exec(bench, "onto.project.get", {"project_id": DEMO_PROJECT, **includes})]
    for kind, filters in (("task", {}), ("document", {"type_key": "document.note"}), ("plan", {})):
        rows = _exec(bench, f"onto.{kind}.list", {"project_id": DEMO_PROJECT, "limit": 50, **filters})[f"{kind}s"]
        results += [_exec(bench, f"onto.{kind}.get", {f"{kind}_id": row["id"]}) for row in rows]
    return results


def _exec(bench: ChatBench, op: str, args: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = _call(bench, op, args)["result"]
    return result


def _call(bench: ChatBench, op: str, args: dict[str, Any]) -> dict[str, Any]:
    request = load.build_request("POST", "/api/v1/exec", _get_headers(bench), orjson.dumps({"op": op, "args": args}))
    envelope: dict[str, Any] = orjson.loads(load.send_once(bench.gateway, request))
    return envelope


@contextmanager
def _serve(lab: Lab, **variables: str) -> Iterator[ChatBench]:
    """Serve gateway and chat on the demo workspace, with variables of the chat's environment."""
    demo = lab.get_demo()
    with lab.serve_gateway(demo, AGENTIC_CHAT_TOOL_GATEWAY="on") as gateway:
        url = f"http://{gateway.address[0]}:{gateway.address[1]}"
        with lab.serve_chat(demo, CHAT_GATEWAY_URL=url, CHAT_GATEWAY_KEY=demo.key, **variables) as chat:
            yield ChatBench(gateway.address, chat.address, chat.pid, demo.key)
