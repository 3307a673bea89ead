import pytest

from gateway.builtin_ops import concurrency_slots
from gateway.contracts.errors import InternalError


def test_call_without_a_free_slot_is_refused_as_busy() -> None:
    slots = [concurrency_slots.hold_slot() for _ in range(concurrency_slots.MAX_SLOTS)]
    for slot in slots:
        slot.__enter__()

    with pytest.raises(InternalError) as error, concurrency_slots.hold_slot():
        pass
    slots.pop().__exit__(None, None, None)
    with concurrency_slots.hold_slot():  # a released slot is free again
        pass
    slots.pop().__exit__(None, None, None)

    assert (error.value.status, error.value.reason, error.value.retryable) == (503, "busy", True)


def test_slot_is_released_after_an_exception() -> None:
    for _ in range(concurrency_slots.MAX_SLOTS + 1):
        with pytest.raises(ZeroDivisionError), concurrency_slots.hold_slot():
            raise ZeroDivisionError
