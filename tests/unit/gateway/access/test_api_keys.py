from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.core import serializers
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from core.background import poller
from core.manifest import PollerThread
from gateway.access import api_keys, key_verification
from gateway.models import ApiKey, Client

pytestmark = pytest.mark.django_db
AT = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def client() -> Client:
    return Client.objects.create(name="chat")


def issue_key(client: Client, **fields: Any) -> tuple[ApiKey, str]:
    return api_keys.issue(client=client, by="tests", **fields)


def verify_key(plaintext: str) -> key_verification.VerifiedKey:
    key = key_verification.verify(plaintext)
    assert key is not None
    return key


def test_issue_creates_256_random_bits_after_a_prefix(client: Client) -> None:
    key, plaintext = issue_key(client)
    _, other = issue_key(client)

    prefix, _, secret = plaintext.removeprefix(key_verification.PREFIX).partition("_")
    assert key.prefix == key_verification.PREFIX + prefix
    assert len(secret) == 43 + key_verification.CHECK_LENGTH  # 32 bytes in base64
    assert plaintext != other


def test_issue_stores_nothing_that_reveals_the_key(client: Client) -> None:
    key, plaintext = issue_key(client)
    verify_key(plaintext)

    stored = serializers.serialize("json", [*ApiKey.objects.all(), *Client.objects.all()])
    assert plaintext not in stored
    assert plaintext.split("_", 2)[2] not in stored  # the secret can contain an underscore, too
    assert key.secret_hash != plaintext
    assert plaintext not in str(vars(key_verification._cache))


def test_hash_depends_on_the_pepper(client: Client, settings: Any) -> None:
    _, plaintext = issue_key(client)

    settings.GATEWAY_KEY_PEPPER = "another pepper"

    assert key_verification.verify(plaintext) is None


@pytest.mark.parametrize(
    "plaintext",
    ["", "gw_", "x", "gw_00000000_unknown", "gw_" + "x" * 5000, "GW_00000000_x", "gw_\x00\x00\x00\x00", "gw_ä€😀"],
)
def test_verify_refuses_unknown_keys(client: Client, plaintext: str) -> None:
    issue_key(client)

    assert key_verification.verify(plaintext) is None


def test_verify_needs_the_whole_secret(client: Client) -> None:
    key, plaintext = issue_key(client)

    for invalid in (
        plaintext[:-1],
        plaintext + "x",
        key.prefix,
        plaintext.swapcase(),
        f"{key.prefix}_{key.secret_hash}",
    ):
        assert key_verification.verify(invalid) is None
    assert key_verification.verify(plaintext) is not None


def test_verify_queries_the_database_once_per_key(client: Client, django_assert_num_queries: Any) -> None:
    _, plaintext = issue_key(client)

    with django_assert_num_queries(1):
        verify_key(plaintext)
    with django_assert_num_queries(0):
        verify_key(plaintext)


def test_verify_queries_a_deleted_key_once_a_second(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        for _ in range(5):
            assert key_verification.verify(key_verification.build_plaintext("gw_00000000", "deleted")) is None


def test_verify_accepts_a_new_key_after_the_next_poll(client: Client) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api_keys.secrets, "token_hex", lambda _: "00000000")
        patch.setattr(api_keys.secrets, "token_urlsafe", lambda _: "known")
        plaintext = key_verification.build_plaintext("gw_00000000", "known")
        assert key_verification.verify(plaintext) is None
        issue_key(client)

    key_verification.check_new_keys()

    assert key_verification.verify(plaintext) is not None


def test_guessed_keys_neither_query_the_database_nor_hold_up_a_valid_key(
    client: Client, django_assert_num_queries: Any
) -> None:
    key, plaintext = issue_key(client)
    guesses = [*(f"gw_{number:08x}_guess" for number in range(500)), *(f"{key.prefix}_{n}" for n in range(500))]

    with django_assert_num_queries(0):
        assert not any(map(key_verification.verify, guesses))
    assert key_verification.verify(plaintext) is not None


def test_key_expires_without_a_refresh(client: Client) -> None:
    _, plaintext = issue_key(client, expires_at=AT)

    with time_machine.travel(AT - timedelta(microseconds=1), tick=False):
        assert key_verification.verify(plaintext) is not None
    with time_machine.travel(AT, tick=False):
        assert key_verification.verify(plaintext) is None


def test_rotate_creates_a_successor_with_the_same_rights(client: Client) -> None:
    old, plaintext = issue_key(client, name="laptop", subject="me", scopes=["help"], rate=7)

    new, successor = api_keys.rotate(old, by="admin", at=AT, overlap=timedelta(hours=1))

    assert (new.client, new.name, new.subject, new.scopes, new.rate) == (client, "laptop", "me", ["help"], 7)
    assert (new.rotated_from, new.created_by, new.expires_at) == (old, "admin", None)
    with time_machine.travel(AT + timedelta(minutes=59), tick=False):
        assert key_verification.verify(plaintext) is not None
        assert key_verification.verify(successor) is not None
    with time_machine.travel(AT + timedelta(hours=1), tick=False):
        assert key_verification.verify(plaintext) is None
        assert key_verification.verify(successor) is not None


def test_rotate_never_extends_the_old_key_and_takes_one_that_expires_on_the_last_date(client: Client) -> None:
    old, _ = issue_key(client, expires_at=AT + timedelta(minutes=5))
    last, _ = issue_key(client, expires_at=datetime(9999, 12, 31, tzinfo=UTC))

    api_keys.rotate(old, by="admin", at=AT, overlap=timedelta(hours=1))
    new, _ = api_keys.rotate(last, by="admin", at=AT, overlap=timedelta(hours=1))

    old.refresh_from_db()
    assert old.expires_at == AT + timedelta(minutes=5)
    assert new.expires_at is not None
    assert new.expires_at.year == 9999


def test_revoke_is_immediate_and_final(client: Client) -> None:
    key, plaintext = issue_key(client)
    verify_key(plaintext)

    api_keys.revoke(key, by="tests", at=AT)
    api_keys.revoke(key, by="tests", at=AT + timedelta(days=1))

    assert key_verification.verify(plaintext) is None
    key.refresh_from_db()
    assert key.revoked_at == AT


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("key", {"revoked_at": AT}),
        ("client", {"is_active": False}),
        ("client", {}),  # deleted
        ("key", {"scopes": ["help"]}),
        ("client", {"op_patterns": ["util.*"]}),
    ],
)
def test_refresh_drops_a_key_that_was_changed_elsewhere(client: Client, name: str, fields: dict[str, Any]) -> None:
    key, plaintext = issue_key(client)
    before = verify_key(plaintext)
    changed = client if name == "client" else key
    for field, value in fields.items():
        setattr(changed, field, value)
    changed.save() if fields else changed.delete()

    key_verification.refresh_verified_keys()

    if "scopes" in fields:
        assert verify_key(plaintext).scopes == {"help"}
    elif "op_patterns" in fields:
        assert verify_key(plaintext).visibility != before.visibility
    else:
        assert key_verification.verify(plaintext) is None


def test_refresh_drops_a_changed_key_from_both_caches(client: Client, django_assert_num_queries: Any) -> None:
    key, plaintext = issue_key(client, rate=1)
    assert key_verification.get_by_id(key.pk)
    with django_assert_num_queries(0):
        assert key_verification.get_by_id(key.pk)
    key.rate = 2
    key.save()
    verify_key(plaintext)  # caches the changed key under its plaintext

    key_verification.refresh_verified_keys()

    key_by_id = key_verification.get_by_id(key.pk)
    assert key_by_id is not None
    assert (key_by_id.rate, verify_key(plaintext).rate) == (2, 2)


def test_last_use_is_written_at_most_once_a_minute(client: Client) -> None:
    key, plaintext = issue_key(client)

    def used_at(time: datetime) -> datetime | None:
        with time_machine.travel(time, tick=False):
            verify_key(plaintext)
            key_verification.save_last_used()
        key.refresh_from_db()
        return key.last_used_at

    assert key.last_used_at is None
    assert used_at(AT) == AT
    assert used_at(AT + timedelta(seconds=59)) == AT
    assert used_at(AT + timedelta(seconds=60)) == AT + timedelta(seconds=60)


def test_last_use_of_many_keys_is_written_by_one_statement(client: Client, django_assert_num_queries: Any) -> None:
    plaintexts = [issue_key(client)[1] for _ in range(20)]
    for plaintext in plaintexts:
        verify_key(plaintext)

    with CaptureQueriesContext(connection) as queries:
        key_verification.save_last_used()
    for plaintext in plaintexts:
        verify_key(plaintext)
    with django_assert_num_queries(0):
        key_verification.save_last_used()

    assert not ApiKey.objects.filter(last_used_at=None).exists()
    assert len([query for query in queries if query["sql"].startswith("UPDATE")]) == 1


def test_key_that_was_revoked_while_it_was_verified_ends_at_the_next_poll(
    client: Client, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    _, plaintext = issue_key(client)
    build = key_verification._build_verified_key

    def revoke_and_poll(row: ApiKey) -> key_verification.VerifiedKey:
        ApiKey.objects.filter(pk=row.pk).update(revoked_at=AT, updated_at=AT)
        key_verification.refresh_verified_keys()
        return build(row)

    monkeypatch.setattr(key_verification, "_build_verified_key", revoke_and_poll)
    verify_key(plaintext)  # it has read the row as it was before
    monkeypatch.undo()

    key_verification.check_new_keys()

    assert key_verification.verify(plaintext) is None
    with django_assert_num_queries(0):
        key_verification.check_new_keys()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_poll_takes_one_query_with_ten_thousand_keys_in_use(
    client: Client, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(poller, "_version", None)
    key, plaintext = issue_key(client)
    ApiKey.objects.bulk_create(
        ApiKey(client=client, prefix=f"gw_{n:08x}", secret_hash=f"{n}", name=f"{n}") for n in range(9_999)
    )
    verify_key(plaintext)
    for row in ApiKey.objects.exclude(pk=key.pk).select_related("client"):
        key_verification._cache.add(row.prefix.encode(), key_verification._build_verified_key(row))
    poller.poll(PollerThread.MEMORY)
    key_verification._cache.last_used.update(dict.fromkeys(ApiKey.objects.values_list("pk", flat=True), AT.timestamp()))

    with django_assert_num_queries(1):
        poller.poll(PollerThread.MEMORY)
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=AT, updated_at=AT)
    poller.poll(PollerThread.MEMORY)

    assert key_verification.verify(plaintext) is None
    assert len(key_verification._cache.verified) == 9_999
    key_verification.clear_cache()


@pytest.mark.parametrize(
    ("scopes", "kinds"),
    [
        (["help"], {"read", "write"}),  # a key that cannot run ops can read help on all
        (["help", "exec:read"], {"read"}),
        (["help", "exec:write"], {"write"}),
        (["exec:read", "exec:write"], {"read", "write"}),
    ],
)
def test_key_sees_only_the_kinds_that_it_may_run(client: Client, scopes: list[str], kinds: set[str]) -> None:
    _, plaintext = issue_key(client, scopes=scopes)

    assert verify_key(plaintext).visibility.kinds == kinds


def test_rate_of_zero_violates_its_constraint(client: Client) -> None:
    with pytest.raises(IntegrityError, match="key_rate_positive"):
        issue_key(client, rate=0)
