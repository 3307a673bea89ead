"""The suggested messages on the empty page. The scripted model has a script for each of them."""

from dataclasses import dataclass

from chat.scripted_model.scripts import load_scripts


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A message that the user can send with one click, and a short label."""

    text: str
    title: str


SUGGESTIONS: tuple[Suggestion, ...] = tuple(Suggestion(script.message, script.title) for script in load_scripts())
