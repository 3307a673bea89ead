from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from gateway.contracts.errors import ConflictError
from gateway.execution import idempotency
from gateway.execution.idempotency import KeyedCall, StoredResponse
from gateway.models import Client, IdempotencyRecord

AT = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def call(db: None) -> KeyedCall:
    client = Client.objects.create(name="chat")
    return KeyedCall(
        client.pk, "me", "key", "onto.task.create", idempotency.compute_fingerprint("onto.task.create", {})
    )


@pytest.mark.both_databases
def test_find_returns_the_response_of_a_finished_call(call: KeyedCall) -> None:
    claim = idempotency.claim_key(call, trace_id="tr_1", at=AT)
    assert claim is not None
    idempotency.store_response(claim, status=404, envelope={"ok": False, "text": "ä😀\u2028"})

    assert idempotency.find_stored_response(call, at=AT) == StoredResponse(404, {"ok": False, "text": "ä😀\u2028"})


def test_find_raises_a_conflict_for_a_running_call(call: KeyedCall) -> None:
    idempotency.claim_key(call, trace_id="tr_1", at=AT)

    with pytest.raises(ConflictError) as error:
        idempotency.find_stored_response(call, at=AT)

    assert (error.value.status, error.value.reason, error.value.retryable) == (409, "in_progress", True)
    assert error.value.headers == {"Retry-After": "1"}


def test_find_raises_a_conflict_for_another_call(call: KeyedCall) -> None:
    idempotency.claim_key(call, trace_id="tr_1", at=AT)
    second = KeyedCall(call.client_id, call.subject, call.key, call.op, "another")

    with pytest.raises(ConflictError) as error:
        idempotency.find_stored_response(second, at=AT)

    assert (error.value.status, error.value.reason) == (422, "idempotency_key_reused")


@pytest.mark.both_databases
def test_key_can_be_claimed_once(call: KeyedCall) -> None:
    assert idempotency.claim_key(call, trace_id="tr_1", at=AT) is not None
    assert idempotency.claim_key(call, trace_id="tr_2", at=AT) is None
    assert IdempotencyRecord.objects.get().trace_id == "tr_1"


@pytest.mark.both_databases
def test_claim_takes_over_an_expired_record(call: KeyedCall) -> None:
    claim = idempotency.claim_key(call, trace_id="tr_1", at=AT)
    assert claim is not None
    idempotency.store_response(claim, status=200, envelope={})
    later = AT + timedelta(hours=24)

    assert idempotency.find_stored_response(call, at=later - timedelta(microseconds=1)) is not None
    assert idempotency.find_stored_response(call, at=later) is None
    assert idempotency.claim_key(call, trace_id="tr_2", at=later - timedelta(microseconds=1)) is None
    assert idempotency.claim_key(call, trace_id="tr_2", at=later) == claim
    record = IdempotencyRecord.objects.get()
    assert (record.state, record.status, record.answer, record.trace_id) == ("claimed", 0, "", "tr_2")
    assert record.expires_at == later + timedelta(hours=24)


@pytest.mark.both_databases
def test_duplicate_key_violates_its_constraint(call: KeyedCall) -> None:
    idempotency.claim_key(call, trace_id="tr_1", at=AT)
    duplicate = IdempotencyRecord.objects.get()
    duplicate.pk = None

    with pytest.raises(IntegrityError, match=r"idempotency_key_once|client_id, .*subject, .*key"), transaction.atomic():
        duplicate.save(force_insert=True)


@pytest.mark.both_databases
def test_done_record_without_an_answer_violates_its_constraint(call: KeyedCall) -> None:
    idempotency.claim_key(call, trace_id="tr_1", at=AT)

    with pytest.raises(IntegrityError, match="idempotency_done_has_answer"), transaction.atomic():
        IdempotencyRecord.objects.update(state="done")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), json_values, max_size=4))
def test_fingerprint_does_not_depend_on_the_order_of_members(args: dict[str, object]) -> None:
    reversed_args = dict(reversed(list(args.items())))

    assert idempotency.compute_fingerprint("op", args) == idempotency.compute_fingerprint("op", reversed_args)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"n": 1}, {"n": 1.0}, True),  # the same number in JSON
        ({"n": 1}, {"n": "1"}, False),
        ({"n": 1}, {"n": True}, False),
        ({"n": None}, {}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": "é"}, {"a": "e\u0301"}, False),  # not normalised
    ],
)
def test_fingerprint_compares_json_values(first: dict[str, object], second: dict[str, object], same: bool) -> None:
    assert (idempotency.compute_fingerprint("op", first) == idempotency.compute_fingerprint("op", second)) is same
    assert idempotency.compute_fingerprint("op", first) != idempotency.compute_fingerprint("other", first)
