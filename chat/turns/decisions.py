"""What the user decided about calls that need their agreement."""

from collections.abc import Sequence

from chat.conversations import turn_store
from chat.conversations.past_turns import DECLINED
from chat.conversations.start_turn import Decision
from chat.gateway import envelopes
from chat.turns.tool_runner import ToolRunner
from core import llm


def carry_out(decisions: Sequence[Decision], tools: ToolRunner) -> bool:
    """Run the calls, or store that the user declined. Return whether others of their turns wait for a decision.

    Those are shown again, so that clients that see this turn alone ask about them. Raises LlmAborted if the user stops
    the turn; what was not carried out waits on.
    """
    rows = []
    for decision in decisions:
        _check_stop(tools)
        row = turn_store.load_call(decision.call_id)
        rows.append(row)
        if decision.is_approved:
            tools.run_confirmed(row)
        else:
            tools.close_declined(row, envelopes.build_error(row.op, "CONFLICT", DECLINED, "declined"))
    _check_stop(tools)
    waiting = turn_store.load_waiting_calls({row.message_id for row in rows})
    for row in waiting:
        if row not in rows:  # the gateway may ask again about one that was carried out, which was shown then
            tools.show_waiting(row)
    return bool(waiting)


def _check_stop(tools: ToolRunner) -> None:
    if tools.abort.is_set:
        raise llm.LlmAborted("aborted")
