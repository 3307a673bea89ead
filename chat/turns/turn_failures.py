"""Failures of turns in words for the user, above all those of the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.events import failed_turns
from core import llm

SEND_AGAIN = "Send the message again."
MINUTE = 60

EMPTY = {
    llm.EmptyReason.SILENCE: ("The model gave no answer, although it was asked twice.", SEND_AGAIN),
    llm.EmptyReason.REASONING: (
        "The model reached its limit before it answered, although it was asked twice.",
        "Ask for less at a time.",
    ),
    llm.EmptyReason.UNREAD_CALL: (
        "The model tried to use a tool in a form that cannot be run. Nothing was done by that.",
        SEND_AGAIN,
    ),
}
# The first that fits: (what happened, what to do, whether the same message can be sent again).
ERRORS: list[tuple[type[llm.LlmError], str, str, bool]] = [
    (llm.LlmSilent, "The model stopped responding.", SEND_AGAIN, True),
    (llm.LlmTooLong, "The conversation is too long for the model.", "Start a new one, or ask for less.", False),
    (llm.LlmFiltered, "A content filter of the model's provider stopped the answer.", "Say it differently.", False),
    (llm.LlmDenied, "The model cannot be used with the settings of this chat.", "Ask your administrator.", False),
    (llm.LlmRefused, "The model refuses this request.", "Say it differently, or ask your administrator.", True),
    (llm.LlmMalformed, "The model's answer could not be read.", SEND_AGAIN, True),
    (llm.LlmError, "The model did not answer completely.", SEND_AGAIN, True),
]


@dataclass(frozen=True, slots=True)
class TurnFailure:
    """Why a turn failed, and what the user can do."""

    code: str
    problem: str
    advice: str
    is_retryable: bool

    def to_dict(self, operations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the error of a turn with these operations. To send the message again would do its writes twice."""
        has_written = any(operation["status"] == "success" for operation in operations)
        advice = failed_turns.LOOK_FIRST if has_written else self.advice
        return {
            "code": self.code,
            "message": f"{self.problem} {advice}".strip(),
            "retryable": self.is_retryable and not has_written,
        }


def explain_model_error(error: llm.LlmError) -> TurnFailure:
    """Return what happened, what the user can do, and whether sending the same message again may help."""
    if isinstance(error, llm.LlmEmpty):
        problem, advice, again = *EMPTY[error.reason], True
    elif isinstance(error, llm.LlmBusy):
        problem, advice, again = "The model is busy.", f"Try again in {_describe_wait(error.seconds)}.", True
    else:
        problem, advice, again = next(row[1:] for row in ERRORS if isinstance(error, row[0]))
    return TurnFailure("model_failed", problem, advice, again)


def _describe_wait(seconds: float) -> str:
    if seconds < 2 * MINUTE:
        return f"{max(1, round(seconds))} seconds"
    return f"{round(seconds / MINUTE)} minutes"
