import pytest

from gateway.errors import Failed
from gateway.utilities import places


def test_a_call_beyond_the_places_is_told_to_come_again() -> None:
    held = [places.taken() for _ in range(places.PLACES)]
    for place in held:
        place.__enter__()

    with pytest.raises(Failed) as refused, places.taken():
        pass
    held.pop().__exit__(None, None, None)
    with places.taken():  # a place that is given back is there again
        pass
    held.pop().__exit__(None, None, None)

    assert (refused.value.status, refused.value.reason, refused.value.retryable) == (503, "busy", True)


def test_a_place_is_given_back_whatever_happens() -> None:
    for _ in range(places.PLACES + 1):
        with pytest.raises(ZeroDivisionError), places.taken():
            raise ZeroDivisionError
