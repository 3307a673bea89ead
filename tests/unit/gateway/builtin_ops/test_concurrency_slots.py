import pytest

from gateway.builtin_ops import web_search
from gateway.contracts.errors import InternalError


def test_call_without_a_free_slot_is_refused_as_busy() -> None:
    slots = [web_search.hold_slot() for _ in range(web_search.MAX_SLOTS)]
    for slot in slots:
        slot.__enter__()

    with pytest.raises(InternalError) as error, web_search.hold_slot():
        pass
    slots.pop().__exit__(None, None, None)
    with web_search.hold_slot():  # a released slot is free again
        pass
    slots.pop().__exit__(None, None, None)

    assert (error.value.status, error.value.reason, error.value.retryable) == (503, "busy", True)


def test_slot_is_released_after_an_exception() -> None:
    for _ in range(web_search.MAX_SLOTS + 1):
        with pytest.raises(ZeroDivisionError), web_search.hold_slot():
            raise ZeroDivisionError
