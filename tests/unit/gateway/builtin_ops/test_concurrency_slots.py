import pytest

from gateway.builtin_ops import concurrency_slots
from gateway.contracts.errors import InternalError


def test_a_call_beyond_the_places_is_told_to_come_again() -> None:
    held = [concurrency_slots.hold_slot() for _ in range(concurrency_slots.MAX_SLOTS)]
    for place in held:
        place.__enter__()

    with pytest.raises(InternalError) as refused, concurrency_slots.hold_slot():
        pass
    held.pop().__exit__(None, None, None)
    with concurrency_slots.hold_slot():  # a place that is given back is there again
        pass
    held.pop().__exit__(None, None, None)

    assert (refused.value.status, refused.value.reason, refused.value.retryable) == (503, "busy", True)


def test_a_place_is_given_back_whatever_happens() -> None:
    for _ in range(concurrency_slots.MAX_SLOTS + 1):
        with pytest.raises(ZeroDivisionError), concurrency_slots.hold_slot():
            raise ZeroDivisionError
