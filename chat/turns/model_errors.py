"""Failures of the model in words for the user: what happened, and what they can do."""

from core import llm

SEND_AGAIN = "Send the message again."
ASK_ADMINISTRATOR = "Ask your administrator."
SAY_OTHERWISE = "Say it differently."
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
    (llm.LlmFiltered, "A content filter of the model's provider stopped the answer.", SAY_OTHERWISE, False),
    (llm.LlmRefused, "The model refuses this request.", f"{SAY_OTHERWISE[:-1]}, or ask your administrator.", True),
    (llm.LlmMalformed, "The model's answer could not be read.", SEND_AGAIN, True),
    (llm.LlmError, "The model did not answer completely.", SEND_AGAIN, True),
]


def explain_model_error(error: llm.LlmError) -> tuple[str, str, bool]:
    """Return what happened, what the user can do, and whether sending the same message again may help."""
    if isinstance(error, llm.LlmEmpty):
        return *EMPTY[error.reason], True
    if isinstance(error, llm.LlmBusy):
        return "The model is busy.", f"Try again in {_describe_wait(error.seconds)}.", True
    return next((what, advice, again) for kind, what, advice, again in ERRORS if isinstance(error, kind))


def _describe_wait(seconds: float) -> str:
    if seconds < 2 * MINUTE:
        return f"{max(1, round(seconds))} seconds"
    return f"{round(seconds / MINUTE)} minutes"
