"""Ask a model for one answer, which arrives whole."""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from core import http
from core.deadlines import Deadline
from core.failure_pause import FailurePause
from core.llm import completion, retries, usage
from core.llm.completion import Completion, JsonCompletion
from core.llm.errors import LlmError, LlmNotConfigured, LlmUnavailable
from core.llm.tiers import Tier, get_model, is_configured

log = logging.getLogger(__name__)

Messages = Sequence[Mapping[str, Any]]  # such as {"role": "system", "content": "…"}

# One for each tier: quick calls with a short deadline must not stop the long ones.
_pauses = {tier: FailurePause(f"llm.{tier}") for tier in Tier}


def complete(messages: Messages, *, tier: Tier, purpose: str, deadline: Deadline) -> Completion:
    """Return the model's text, complete and not blank. `purpose` is a word for the log, such as merge.

    Raises an LlmError: LlmNotConfigured, LlmUnavailable after two retries, LlmRefused, LlmMalformed, LlmCutOff.
    """
    return _ask(messages, tier=tier, purpose=purpose, deadline=deadline, options={})


def complete_json(messages: Messages, *, tier: Tier, purpose: str, deadline: Deadline) -> JsonCompletion:
    """Return the JSON object that the messages ask for. They must contain the word JSON, or OpenAI refuses them.

    Raises an LlmError as `complete` does; LlmMalformed if the answer is anything else than one strict JSON object.
    """
    options = {"response_format": {"type": "json_object"}}
    answer = _ask(messages, tier=tier, purpose=purpose, deadline=deadline, options=options)
    return JsonCompletion(completion.parse_text(answer.text), answer.usage)


def clear_state() -> None:
    """Forget failures, as in a new process."""
    for pause in _pauses.values():
        pause.clear()


def _ask(messages: Messages, *, tier: Tier, purpose: str, deadline: Deadline, options: Mapping[str, Any]) -> Completion:
    started = time.monotonic()
    try:
        answer = _request_completion(messages, tier=tier, deadline=deadline, options=options)
    except LlmNotConfigured:
        raise  # nothing was tried
    except LlmError as error:
        reason = f"{type(error).__name__}: {error}"
        log.warning("llm.failed purpose=%s tier=%s reason=%r seconds=%.1f", purpose, tier, reason, _since(started))
        raise
    spent = answer.usage
    log.info(
        "llm.completed purpose=%s tier=%s input=%d output=%d dollars=%.6f seconds=%.1f",
        *(purpose, tier, spent.input_tokens, spent.output_tokens, spent.dollars, _since(started)),
    )
    return answer


def _request_completion(
    messages: Messages, *, tier: Tier, deadline: Deadline, options: Mapping[str, Any]
) -> Completion:
    if not is_configured():
        raise LlmNotConfigured("LLM_BASE_URL is not set")
    model, pause = get_model(tier), _pauses[tier]
    if pause.is_active():
        raise LlmUnavailable("paused after several failures")
    try:
        raw = retries.post_with_retries(
            http.build_endpoint_url(settings.LLM_BASE_URL, "/chat/completions"),
            key=settings.LLM_API_KEY,
            body={"model": model.name, "messages": list(messages), **options},
            deadline=deadline,
        )
    except LlmUnavailable as error:
        pause.count_failure(error)
        raise
    pause.count_success()
    answer = completion.parse_answer(raw)
    spent = usage.read_usage(answer, model=model)
    usage.count_usage(spent, tier=tier)  # an answer that is of no use is paid for too
    return Completion(completion.read_text(answer), spent)


def _since(started: float) -> float:
    return time.monotonic() - started
