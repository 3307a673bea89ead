"""Run turns in separate threads: a broken stream or a closed page does not end them."""

import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from chat.connections import give_back_connection
from chat.context.handles import RowHandles
from chat.context.history import build_past_messages
from chat.context.layers import GLOBAL, PROJECT, Place
from chat.context.retelling import retell_turns
from chat.context.sections.row_lines import find_zone
from chat.context.sections.system_prompt import add_time
from chat.context.service import load_context
from chat.conversations import past_turns, recent_messages, summaries, turn_store
from chat.conversations.past_turns import AskedTurn
from chat.conversations.start_turn import NewTurn
from chat.errors import ApiError
from chat.events import event_writer, failed_turns
from chat.events.turn_log import TurnLog
from chat.events.turn_output import TurnOutput
from chat.gateway import envelopes
from chat.gateway.client import Credentials, GatewayClient, GatewayRefused, GatewayUnavailable
from chat.gateway.envelopes import format_context_header
from chat.models import Conversation, Message
from chat.threads import start_thread
from chat.turns import decisions, model_endpoint, spans, telemetry
from chat.turns.model_endpoint import ChatModel, Spent
from chat.turns.operations import NamesSeen
from chat.turns.tool_runner import ToolRunner
from chat.turns.turn_failures import SEND_AGAIN, TurnFailure, explain_model_error
from chat.turns.turn_loop import LEGACY, TurnLoop, choose_pause
from core import llm, logs, tracing
from core.background import leases
from core.database.deadlines import Deadline
from core.http import Abort

log = logging.getLogger(__name__)

TURN_SECONDS = 600

NOWHERE = "no project"
WENT_WRONG = "Something went wrong here."

Finish = Message.Finish


def run_in_thread(new: NewTurn, credentials: Credentials) -> TurnLog:
    """Start a turn and return its log, whose first event is there already. Raises ApiError if that fails."""
    turn_log, abort = TurnLog(str(new.turn.pk)), Abort()
    turn_log.append(
        "session",
        {
            "session_id": str(new.conversation.pk),
            "message_id": str(new.turn.pk),
            "title": new.conversation.title,
            **({"question_id": str(new.question.pk)} if new.question else {}),
            **({"versions": [str(each) for each in new.versions]} if new.versions else {}),
        },
    )
    try:
        runner = TurnRunner(new, credentials, turn_log, abort)
        event_writer.add_turn(turn_log, abort.set)
        start_thread(runner.run, name=f"turn-{new.turn.pk}")
    except Exception as error:
        event_writer.remove_turn(turn_log)
        log.error("chat.turn_not_started turn=%s\n%s", new.turn.pk, logs.format_safely(error))
        refusal = ApiError(503, "not_started", "The answer could not start. Send the message again.", retry_after=2)
        turn_store.store_failed_start(new.turn, refusal.to_dict())
        raise refusal from None
    return turn_log


class TurnRunner:
    """One turn, from its context to its end."""

    def __init__(self, new: NewTurn, credentials: Credentials, turn_log: TurnLog, abort: Abort) -> None:
        self._new = new
        self._conversation: Conversation = new.conversation
        self._turn: Message = new.turn
        self._log = turn_log
        self._abort = abort
        self._model: ChatModel = model_endpoint.get_chat_model()
        self._place = Place(**new.conversation.context)
        self._gateway = GatewayClient(
            credentials,
            session=str(new.conversation.pk),
            turn=str(new.turn.pk),
            context=format_context_header(self._place),
            model=self._model.endpoint.model.name,
        )
        self._spent = Spent()
        self._loop: TurnLoop | None = None
        self._handles = RowHandles(new.conversation.row_ids, store=partial(turn_store.store_row_ids, new.conversation))
        self._names = NamesSeen({})
        self._output = TurnOutput(turn_log, self._handles, self._names.get)
        self._failure = TurnFailure("internal", WENT_WRONG, SEND_AGAIN, is_retryable=True)

    def run(self) -> None:
        """Run the turn, and write its end whatever happens."""
        with leases.keep(self._turn, failed_turns.LEASE):
            trace = self._run_in_span()
        with tracing.continue_trace(trace):
            telemetry.send_report(self._gateway, self._turn, self._loop, self._spent)
            summaries.compress_when_long(self._conversation, last=self._turn.position)

    def _run_in_span(self) -> str:
        """Run the turn and return the `traceparent` of its span, with which what comes after its end goes on."""
        with spans.start_turn_span(self._conversation, self._turn) as span:
            self._run_and_end()
            spans.end_turn_span(span, self._turn)
            return tracing.get_header()

    def _run_and_end(self) -> None:
        try:
            finish = self._run()
        except llm.LlmAborted:
            finish = Finish.CANCELLED
        except llm.LlmError as error:
            self._failure, finish = explain_model_error(error), Finish.ERROR
        except GatewayUnavailable:
            advice = "It may still be starting: try again in a few seconds."
            finish = self._fail("gateway_unavailable", "The gateway cannot be reached.", advice)
        except GatewayRefused as refusal:
            finish = self._fail("gateway_refused", refusal.message, "", retryable=refusal.status >= 429)
        except Exception as error:
            log.error("chat.turn_failed turn=%s\n%s", self._turn.pk, logs.format_safely(error))
            finish = self._fail("internal", WENT_WRONG)
        finally:
            give_back_connection()
        try:
            self._end(finish)
        except Exception as error:
            log.error("chat.end_failed turn=%s\n%s", self._turn.pk, logs.format_safely(error))
            self._turn.finish = self._fail("internal", WENT_WRONG)
            self._turn.error = self._failure.to_dict(self._turn.written)
            self._log.append("error", failed_turns.describe_error(self._turn))
            self._store_end()
        finally:
            event_writer.remove_turn(self._log)
            self._log.close()
            give_back_connection()

    def _run(self) -> Finish:
        self._place = past_turns.complete_place(self._conversation, self._gateway)
        asked = decisions.load_asked_turn(self._new) if self._new.decisions else None
        conversation = recent_messages.describe_conversation(self._new, asked=asked.question if asked else None)
        toolset = self._gateway.fetch_toolset("" if asked else self._new.message, conversation)
        undecided = [] if asked else past_turns.load_undecided_calls(self._conversation, before=self._new.begins_at)
        toolset = self._add_tools(toolset, {call.name: None for call in undecided})
        self._gateway.use_toolset(toolset["id"])
        names, keys = self._names, decisions.build_write_keys(self._new)
        tools = ToolRunner(self._gateway, turn=self._turn, keys=keys, names=names, emit=self._emit, abort=self._abort)
        tools.zone = find_zone(self._conversation.zone)
        tools.use_toolset(toolset)
        loop = self._loop = TurnLoop(
            gateway=self._gateway,
            tools=tools,
            toolset=toolset,
            line=self._open_line(),
            get_text_length=self._output.get_text_length,
            handles=self._handles,
        )
        decided = ""
        if asked:
            decided = decisions.carry_out(self._new, tools, self._output)
            if not decided:
                self._tell_context(toolset, [])
                return Finish.ASK  # a call waits
        base = self._build_base(toolset, asked)
        tools.zone = find_zone(self._conversation.zone)
        finish = loop.run(base, earlier=decisions.build_rounds(self._new, decided) if asked else ())
        if finish == Finish.ASK and decisions.asks_again(undecided, self._turn.calls.all()):
            self._output.write_text(decisions.ASKED_AGAIN)
        return finish

    def _add_tools(self, toolset: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
        """Return the toolset with tools that the conversation is about. Other surfaces reach them by tool_exec."""
        for name in names if toolset["surface"] == LEGACY else ():
            if not any(each["function"]["name"] == name for each in toolset["tools"]):
                toolset = self._gateway.escalate_toolset(toolset["id"], name) or toolset
        return toolset

    def _open_line(self) -> llm.ModelLine:
        return llm.ModelLine(
            self._model.endpoint,
            Deadline.after(milliseconds=TURN_SECONDS * 1000),
            self._abort,
            self._spent.add_answer,
            on_text=self._output.named_text.add,
            on_reasoning=self._output.named_reasoning.add,
            pause=choose_pause,
        )

    def _build_base(self, toolset: Mapping[str, Any], asked: AskedTurn | None) -> list[dict[str, Any]]:
        """Return the messages before the turn's first answer: system, history and what the user wrote, or had asked."""
        at = datetime.now(UTC)
        before = asked.begins_at if asked else self._new.begins_at
        question = (asked.question.text if asked.question else "") if asked else self._new.message
        turns = past_turns.load_past_turns(
            self._conversation, before=before, learn=self._names.learn, reply="" if asked else question
        )
        context = load_context(
            self._gateway.load_context,
            place=self._place,
            toolset=toolset,
            at=at,
            subject=self._conversation.subject,
            shorten=self._handles.shorten_value,
        )
        self._names.learn_names(context.names)
        if str(context.zone) != self._conversation.zone:
            turn_store.store_zone(self._conversation, str(context.zone))
        past, layer = build_past_messages(
            [self._handles.shorten_turn(turn) for turn in retell_turns(turns, toolset)],
            summary=self._handles.shorten(self._conversation.summary),
        )
        messages = [{"role": "system", "content": context.system_message}, *past]
        self._tell_context(toolset, [*context.describe(), layer])
        asked_question = asked.question if asked else self._new.question
        if asked_question is None:
            return messages
        content = asked_question.text
        if asked_question.files:
            content = self._handles.shorten(asked_question.text_for_model)
        return [*messages, {"role": "user", "content": add_time(content, at.astimezone(context.zone))}]

    def _tell_context(self, toolset: Mapping[str, Any], layers: list[dict[str, Any]]) -> None:
        turn = self._turn
        turn.surface, turn.release = toolset["surface"], toolset["release"]
        turn.cohort, turn.layers = str(toolset["cohort"] or "")[:200], layers
        self._emit(
            "context",
            {
                "layers": layers,
                "surface": turn.surface,
                "release": turn.release,
                "cohort": turn.cohort,
                "context": self._conversation.context,
                "zone": self._conversation.zone,
                "scripted": self._model.is_scripted,
            },
        )

    def _emit(self, type: str, data: Mapping[str, Any]) -> None:
        self._output.write_event(type, data)
        if type == "tool" and "envelope" in data:
            self._follow_context_shift(data["envelope"])

    def _follow_context_shift(self, answer: Mapping[str, Any]) -> None:
        """Move the conversation to a project that was created in it, and away from one that was deleted."""
        for envelope in envelopes.iter_envelopes(answer):
            result = envelope.get("result")
            shift = result.get("context_shift") if isinstance(result, Mapping) else None
            if isinstance(shift, Mapping) and shift.get("new_context") == PROJECT:
                self._move({"type": PROJECT, "project_id": shift["entity_id"]}, shift.get("entity_name", ""))
            elif envelopes.get_deleted_project(envelope) == self._conversation.context.get("project_id", NOWHERE):
                self._move({"type": GLOBAL}, "")

    def _move(self, context: Mapping[str, str], name: str) -> None:
        turn_store.store_context(self._conversation, context)
        self._log.append("context", {"context": context, "name": name})

    def _fail(self, code: str, problem: str, advice: str = SEND_AGAIN, *, retryable: bool = True) -> Finish:
        self._failure = TurnFailure(code, problem, advice, retryable)
        return Finish.ERROR

    def _end(self, finish: Finish) -> None:
        """Report how the turn ended, and store it. Both are in the database before the stream ends."""
        turn, usage = self._turn, self._spent
        self._output.close_block()
        turn.text, turn.reasoning, turn.finish = self._output.text, self._output.reasoning, finish
        turn.written = self._loop.tools.ledger if self._loop else []
        if finish == Finish.ERROR:
            turn.error = self._failure.to_dict(turn.written)
            self._log.append("usage", usage.to_dict())
            self._log.append("error", failed_turns.describe_error(turn))
        else:
            title = summaries.choose_title(self._conversation, turn, question=self._new.message, spent=usage.add)
            self._log.append("usage", usage.to_dict())
            self._log.append(
                "done",
                {
                    "message_id": str(turn.pk),
                    **({"title": title} if title else {}),
                    "reason": str(finish),
                    "written": turn.written,
                },
            )
        self._store_end()

    def _store_end(self) -> None:
        turn, spent = self._turn, self._spent
        turn.usage = spent.to_dict()
        store_end = partial(turn_store.store_end, turn, tokens=spent.tokens, dollars=spent.dollars)
        if not event_writer.write_end_patiently(self._log, store_end, exists=partial(turn_store.exists, turn)):
            log.error("chat.end_lost turn=%s", turn.pk)  # it is marked as interrupted
