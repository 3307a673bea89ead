"""Errors of language models. `str()` says why in a few fixed words, without the prompt, the answer or the key."""


class LlmError(Exception):
    """The model gave no usable answer."""


class LlmNotConfigured(LlmError):
    """LLM_BASE_URL is not set."""


class LlmUnavailable(LlmError):
    """The endpoint did not answer in time, or says that it cannot now. The same call may succeed later."""


class LlmRefused(LlmError):
    """The endpoint refuses the request (a wrong key, an unknown model, a prompt too long), or the model the content."""


class LlmMalformed(LlmError):
    """The answer is not what the protocol or the caller asked for."""


class LlmCutOff(LlmError):
    """The answer ended at a length limit."""


class LlmAborted(LlmError):
    """The caller ended the call."""
