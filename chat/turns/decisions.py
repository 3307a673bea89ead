"""Go on with a turn that asked the user: carry out what they decided, by a button or by a plain yes or no."""

import re
from collections.abc import Iterable

from chat.context.shortening.clipping import clip
from chat.conversations import past_turns, turn_store
from chat.conversations.past_turns import AskedTurn
from chat.conversations.replies import read_reply
from chat.conversations.start_turn import NewTurn, UserDecision
from chat.events.turn_output import TurnOutput
from chat.gateway import envelopes
from chat.gateway.envelopes import AskedInput
from chat.models import ToolCall
from chat.turns import tool_plan
from chat.turns.tool_runner import CallOutcome, ToolRunner
from chat.turns.turn_loop import ModelRound
from chat.turns.write_keys import WriteKeys
from core import llm
from core.llm import StreamedCall

DECLINED = "The user did not agree. Nothing was done. Do not repeat the call."
USE_THE_BUTTON = "To be safe, please confirm this with the button."
USE_THE_FORM = "Please answer this below."
DOES_NOT_FIT = "That does not fit: {problem} Please correct it below."
ASKED_AGAIN = "Please use the button above: a message alone does not confirm this."
EXPIRED = "Your approval came too late and had expired, so nothing was done. I checked again: please confirm once more."
DECIDED = (
    "{decided}. Their request was: “{question}”\n"
    "This part is settled: do not call it again. Do what else they asked for, if anything, and tell them how it ended."
)
MAX_QUESTION, MAX_REPLY = 1_000, 60  # characters
# A plain yes runs only what names one of these, and nothing that destroys.
HARMLESS_WORDS = frozenset(
    """
    add append approve assign attach book change complete copy create edit invite link mark merge move order pay place
    post publish rename reorder reorganize reschedule reserve restore save schedule send set share shift start submit
    transfer unschedule update upload write
    """.split()
)
DESTRUCTIVE_WORDS = frozenset(
    """
    abort annihilate archive cancel clear close deactivate decommission delete destroy disable discard dispose drop
    empty erase expunge flush forget kill leave overwrite prune purge remove replace reset revoke shred stop terminate
    trash truncate undo uninstall unlink unpublish unregister unsubscribe void wipe
    """.split()
)
_WORD = re.compile(r"[a-z]+")


def load_asked_turn(new: NewTurn) -> AskedTurn:
    """Return the turn that a new one with decisions goes on with."""
    return past_turns.load_asked_turn(
        new.conversation, before=new.begins_at, goes_through=lambda text: read_reply(text) is not None
    )


def build_write_keys(new: NewTurn) -> WriteKeys:
    """Return the keys of a turn's writes, which know those of the turns that asked the user and that it goes on with.

    Another version of a message begins anew.
    """
    if new.is_first:
        return WriteKeys(str(new.turn.pk))
    before = past_turns.load_asked_turn(new.conversation, before=new.turn.position)
    answers = [] if new.versions else before.answers
    keys = WriteKeys(str(answers[0].pk if answers else new.turn.pk))
    for answer in answers:
        keys.learn_calls(answer.calls.all())
    return keys


def carry_out(new: NewTurn, tools: ToolRunner, output: TurnOutput) -> str:
    """Run or close the calls. Return what was decided, in words for the model; empty if something still waits.

    What waits is shown again as a part of this turn. Raises LlmAborted if the user stops the turn; what was not carried
    out waits on.
    """
    rows, decided, sentences = list[ToolCall](), list[str](), list[str]()
    for decision in new.decisions:
        _check_stop(tools)
        row = turn_store.load_call(decision.call_id)
        rows.append(row)
        if found := envelopes.find_input(row.envelope or {}):
            told, problem = _answer_service(tools, row, found[0], decision, is_typed=new.question is not None)
            decided += [told] if told else []
            sentences += [problem] if problem else []
            continue
        asked = _describe(row)
        if not decision.is_approved:
            tools.close_declined(row, DECLINED)
            decided.append(f"did not agree to {asked}")
        elif new.question and is_destructive(row):
            sentences.append(USE_THE_BUTTON)
        elif tools.run_confirmed(row):
            decided.append(f"agreed to {asked}")
        else:
            sentences.append(EXPIRED)
    _check_stop(tools)
    waiting = turn_store.load_waiting_calls({row.message_id for row in rows})
    if waiting:
        if sentences:
            output.write_text(" ".join(dict.fromkeys(sentences)))
        for row in waiting:
            tools.show_waiting(row, text_length=output.get_text_length())
        return ""
    who = f"The user wrote “{clip(new.message, MAX_REPLY)}”: they" if new.question else "The user"
    return f"{who} {', and '.join(decided)}"


def _answer_service(
    tools: ToolRunner, row: ToolCall, asked: AskedInput, decision: UserDecision, *, is_typed: bool
) -> tuple[str, str]:
    """Send a service what the user answered. Return what they did, and what keeps the call waiting; one is empty.

    The model is not told what they entered: it is for the service.
    """
    if not decision.is_approved:
        tools.answer_question(row, "decline", None)
        return f"did not answer what the service of {asked.op} asked", ""
    if is_typed:
        return "", USE_THE_FORM
    if problem := tools.answer_question(row, "accept", None if asked.url else decision.content or {}):
        return "", DOES_NOT_FIT.format(problem=problem)
    return f"{'opened the page' if asked.url else 'filled in the form'} of the service of {asked.op}", ""


def build_rounds(new: NewTurn, decided: str) -> list[ModelRound]:
    """Return the rounds of the turn that asked, as they are now. The last one says what was decided."""
    asked, rounds = load_asked_turn(new), list[ModelRound]()
    for answer in asked.answers:
        for text, calls in past_turns.iter_rounds(answer):
            rounds.append(ModelRound(text, [_to_outcome(call) for call in calls]))
    question = clip(asked.question.text if asked.question else "", MAX_QUESTION)
    rounds[-1].notes.append(DECIDED.format(decided=decided, question=question))
    return rounds


def is_destructive(row: ToolCall) -> bool:
    """Whether something that waits in a call deletes or destroys, or may do so: its name does not say."""
    answer = row.envelope or {}
    waiting = dict(envelopes.iter_waiting(answer))
    for index, envelope in enumerate(envelopes.iter_envelopes(answer)):
        if index in waiting:
            op = str(envelope.get("op") or row.op)
            action = str((waiting[index].get("operation") or {}).get("action") or "")
            words, verbs = _split_words(f"{action} {op}"), _split_words(f"{action} {op.rpartition('.')[2]}")
            if words & DESTRUCTIVE_WORDS or not verbs & HARMLESS_WORDS:
                return True
    return False


def asks_again(undecided: Iterable[ToolCall], calls: Iterable[ToolCall]) -> bool:
    """Whether one of the calls waits for the user again, after they answered it in words."""
    before = {(call.op, call.args) for call in undecided}
    return any(call.status == ToolCall.Status.CONFIRM and (call.op, call.args) in before for call in calls)


def _split_words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _describe(row: ToolCall) -> str:
    waiting = [
        envelopes.describe_confirmation(confirmation, op=row.op)
        for _, confirmation in envelopes.iter_waiting(row.envelope or {})
    ]
    return " and to ".join(waiting)


def _to_outcome(row: ToolCall) -> CallOutcome:
    planned = tool_plan.plan_call(StreamedCall(row.call_id, row.name, row.args))
    return CallOutcome(planned, row, row.envelope or past_turns.UNFINISHED)


def _check_stop(tools: ToolRunner) -> None:
    if tools.abort.is_set:
        raise llm.LlmAborted("aborted")
