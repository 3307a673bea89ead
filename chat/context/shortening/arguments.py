"""Arguments of past calls: valid JSON of limited size, whatever the model sent."""

import copy

from chat.context.shortening import json_nodes, text_fields
from chat.context.shortening.clipping import clip
from chat.context.shortening.json_text import dump, parse
from core.text import token_budget

MAX_MALFORMED_CHARS = 200
MAX_STEPS = 12


def shorten(text: str, budget: int) -> str:
    """Return the arguments as JSON of an object within the budget: long texts are cut, then members left out.

    Providers refuse malformed arguments in a history, so the beginning of those becomes a text in an object.
    """
    try:
        args = parse(text or "{}")
    except ValueError:
        args = None
    if not isinstance(args, dict):
        return dump({"malformed": clip(text, MAX_MALFORMED_CHARS)})
    if token_budget.fits(compact := dump(args), budget):
        return compact
    shortened = copy.deepcopy(args)
    for _ in range(MAX_STEPS):
        excess = token_budget.estimate(dump(shortened)) - budget
        node = json_nodes.find_longest_text(shortened, over=text_fields.MIN_CHARS) if excess > 0 else None
        if node is None:
            break
        text_fields.cut_text(node, excess=excess)
    while shortened and token_budget.count(dump(shortened)) > budget:
        shortened.pop(max(shortened, key=lambda name: len(dump(shortened[name])) + len(name)))
    return dump(shortened)
