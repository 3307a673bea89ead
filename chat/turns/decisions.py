"""What the user decided about a call that needs their agreement."""

from chat.conversations import turn_store
from chat.conversations.start_turn import Decision
from chat.gateway import envelopes
from chat.turns.tool_runner import ToolRunner

DECLINED = "The user did not agree. Nothing was done. Do not repeat the call."


def carry_out(decision: Decision, tools: ToolRunner) -> bool:
    """Run the call, or store that the user declined. Return whether another call of its turn waits for a decision."""
    row = turn_store.load_call(decision.call_id)
    if decision.is_approved:
        tools.run_confirmed(row)
    else:
        tools.close_declined(row, envelopes.build_error(row.op, "CONFLICT", DECLINED, "declined"))
    return turn_store.has_waiting_calls(row.message_id)
