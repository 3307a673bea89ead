"""What served a turn and what it cost, in words."""

from typing import Any

import pytest

from chat.models import Message
from chat.pages.shown_messages import ShownLayer, format_dollars, show_figures


@pytest.mark.parametrize(("dollars", "text"), [(0.00072, "$0.0007"), (0.0213, "$0.0213"), (1.5, "$1.50")])
def test_dollars_have_the_digits_that_they_need(dollars: float, text: str) -> None:
    assert format_dollars(dollars) == text


def test_figures_name_what_served_the_turn_and_are_empty_if_it_failed_early() -> None:
    layers: list[dict[str, Any]] = [
        {"name": "system", "tokens": 250, "budget": 500, "cut": False},
        {"name": "history", "tokens": 9_000, "budget": 4_000, "cut": True},
        {"name": "tools", "tokens": 1_000, "budget": 0, "cut": False},  # 0: no budget
    ]
    usage = {"input": 1_400, "output": 12, "dollars": 0.002, "answers": 5}
    message = Message(surface="gateway", release="a" * 64, cohort="demo copy-b", layers=layers, usage=usage)

    figures, failed = show_figures(message), show_figures(Message(usage={"input": 0, "output": 0, "dollars": 0}))

    assert (figures.surface, figures.release, figures.cohorts) == ("gateway", "a" * 64, ("demo", "copy-b"))
    assert figures.spent == "1,412 tokens · $0.0020"
    assert figures.sums == (
        ("Together, per request", "10,250"),
        ("Read in 5 requests", "1,400"),  # the provider counts otherwise
        ("Answers and calls", "12"),
        ("Sum", "1,412"),
    )
    without_price = show_figures(Message(usage=usage | {"dollars": 0.0}))
    assert without_price.spent == "1,412 tokens"
    assert figures.layers == (
        ShownLayer("system", "250", "500", 50.0, False),
        ShownLayer("history", "9,000", "4,000", 100, True),
        ShownLayer("tools", "1,000", "", 0, False),
    )
    assert (failed.surface, failed.spent, failed.layers) == ("", "", ())


def test_tokens_of_a_turn_sum_up_from_those_of_a_request() -> None:
    layers = [{"name": "system", "tokens": 450}, {"name": "tools", "tokens": 1_500}]
    figures = show_figures(Message(layers=layers, usage={"input": 9_900, "output": 442, "answers": 5}))

    assert figures.sums == (
        ("Together, per request", "1,950"),
        ("5 requests with it", "9,750"),
        ("Messages and results of calls", "150"),
        ("Answers and calls", "442"),
        ("Sum", "10,342"),
    )
