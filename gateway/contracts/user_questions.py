"""Questions that a service asks its user while a call runs, and what the user answers.

A question is a form, with a schema, or a page that the user opens in a browser. Its text is the service's: it is shown
as data, and nothing in it is trusted.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from gateway.contracts.errors import ConflictError

REASON = "input_required"
EXPIRES_IN = 600  # seconds that a question waits for its answer
Action = Literal["accept", "decline", "cancel"]
ACTIONS: tuple[Action, ...] = ("accept", "decline", "cancel")


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """One question: a form if it has a schema, else a page at `url`."""

    message: str
    schema: Mapping[str, Any] | None = None
    url: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the members of an error's details: message, and schema or url."""
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """What the user did with a question. `content` is what they entered in a form."""

    action: Action
    content: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class GivenAnswers:
    """The answers to all questions of a call, by their names, with what the service needs to go on with the call.

    `state` is the service's own, sent back unchanged. `waiting_call` names the call if it is still running.
    """

    answers: Mapping[str, UserAnswer]
    state: str | None = field(default=None, repr=False)
    waiting_call: str = ""


class InputRequired(ConflictError):
    """A service needs answers of its user before it goes on. Nothing is final: the call goes on with the answers."""

    reason = REASON
    is_final = False

    def __init__(
        self, questions: Mapping[str, UserQuestion], *, state: str | None = None, waiting_call: str = ""
    ) -> None:
        super().__init__("The service asks its user for input.")
        self.questions = dict(questions)
        self.state = state
        self.waiting_call = waiting_call
