import pytest

from gateway.errors import InternalError
from gateway.utilities import places


def test_a_call_beyond_the_places_is_told_to_come_again() -> None:
    held = [places.hold_slot() for _ in range(places.MAX_SLOTS)]
    for place in held:
        place.__enter__()

    with pytest.raises(InternalError) as refused, places.hold_slot():
        pass
    held.pop().__exit__(None, None, None)
    with places.hold_slot():  # a place that is given back is there again
        pass
    held.pop().__exit__(None, None, None)

    assert (refused.value.status, refused.value.reason, refused.value.retryable) == (503, "busy", True)


def test_a_place_is_given_back_whatever_happens() -> None:
    for _ in range(places.MAX_SLOTS + 1):
        with pytest.raises(ZeroDivisionError), places.hold_slot():
            raise ZeroDivisionError
