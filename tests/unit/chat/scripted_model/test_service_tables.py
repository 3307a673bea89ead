"""Results of services as tables."""

from typing import Any

from chat.scripted_model.outcomes import ScriptedOutcome
from chat.scripted_model.rules.service_tables import describe_result
from tests.support.loops import for_each

KETTLE = {"id": "k", "name": "Kettle", "price": 34.9, "currency": "EUR", "in_stock": 3}


@for_each("result", [{"products": [KETTLE]}, KETTLE])
def test_amounts_are_shown_with_the_currency_that_the_service_sends(result: dict[str, Any]) -> None:
    text = describe_result(ScriptedOutcome("shop.product.list", ok=True, result=result), "product")

    assert "34.9 EUR" in text
    assert "Currency" not in text
    assert "3 EUR" not in text


def test_currency_without_an_amount_is_a_field_like_others() -> None:
    outcome = ScriptedOutcome("shop.get", ok=True, result={"name": "Shop", "currency": "EUR"})

    assert "| Currency | EUR |" in describe_result(outcome, "shop")
