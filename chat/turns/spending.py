"""What a turn costs."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from core import llm


@dataclass(slots=True)
class Spent:
    """What a turn cost so far, as the provider counts, and how many answers of the model it took."""

    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: Decimal = Decimal(0)

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.input_tokens + self.output_tokens

    def add_answer(self, usage: llm.Usage) -> None:
        """Add the usage of one answer to the user, or of one round on the way to it."""
        self.answers += 1
        self.add(usage)

    def add(self, usage: llm.Usage) -> None:
        """Add the usage of something else, such as a title."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.dollars += usage.dollars

    def to_dict(self) -> dict[str, Any]:
        """Return the data of an event `usage`."""
        return {"input": self.input_tokens, "output": self.output_tokens, "dollars": float(self.dollars)}
