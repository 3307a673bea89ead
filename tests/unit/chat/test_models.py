"""Rows of the chat."""

import pytest
from django.core.exceptions import ValidationError

from chat.models import Profile
from gateway.models import Client


@pytest.mark.parametrize("subject", ["user-42", "a", "x" * 200, "!~"])
def test_profile_takes_a_subject_that_the_gateway_takes(subject: str) -> None:
    Profile(subject=subject).clean_fields(exclude=["user"])

    assert not Client(name="chat").explain_subject_refusal(subject)


@pytest.mark.parametrize("subject", ["Ana Müller", "Ana M", "zoë", " a", "a\n", "a\x00", "a\x7f", "x" * 201])
def test_profile_refuses_a_subject_that_no_header_can_carry(subject: str) -> None:
    with pytest.raises(ValidationError) as error:
        Profile(subject=subject).clean_fields(exclude=["user"])

    sentence = "Use 1 to 200 ASCII letters, digits and signs, without spaces, such as user-42."
    assert sentence in error.value.message_dict["subject"]
    assert Client(name="chat").explain_subject_refusal(subject)
