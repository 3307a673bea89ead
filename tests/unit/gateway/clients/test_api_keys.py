import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.core import serializers
from django.db import IntegrityError
from django.utils import timezone

from gateway.clients import api_keys
from gateway.models import ApiKey, Client, Scope

pytestmark = pytest.mark.django_db
AT = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def client() -> Client:
    return Client.objects.create(name="chat")


def made(client: Client, **fields: Any) -> tuple[ApiKey, str]:
    return api_keys.issue(client=client, by="tests", **fields)


def verified(plaintext: str) -> api_keys.VerifiedKey:
    key = api_keys.verify(plaintext)
    assert key is not None
    return key


def test_create_makes_256_random_bits_behind_a_prefix(client: Client) -> None:
    key, plaintext = made(client)
    _, other = made(client)

    prefix, _, secret = plaintext.removeprefix(api_keys.PREFIX).partition("_")
    assert key.prefix == api_keys.PREFIX + prefix
    assert len(secret) == 43  # 32 bytes in base64
    assert plaintext != other


def test_create_keeps_nothing_that_the_key_could_be_read_from(client: Client) -> None:
    key, plaintext = made(client)
    verified(plaintext)

    stored = serializers.serialize("json", [*ApiKey.objects.all(), *Client.objects.all()])
    assert plaintext not in stored
    assert plaintext.split("_", 2)[2] not in stored  # the secret itself may hold the sign, too
    assert key.secret_hash != plaintext
    assert plaintext not in str(vars(api_keys._cache))


def test_hash_depends_on_the_pepper(client: Client, settings: Any) -> None:
    _, plaintext = made(client)

    settings.GATEWAY_KEY_PEPPER = "another pepper"

    assert api_keys.verify(plaintext) is None


def test_create_gives_all_scopes_unless_told(client: Client) -> None:
    _, everything = made(client)
    _, little = made(client, scopes=["help"])

    assert verified(everything).scopes == set(Scope.values)
    assert verified(little).scopes == {"help"}


@pytest.mark.parametrize(
    "plaintext",
    ["", "gw_", "x", "gw_00000000_unknown", "gw_" + "x" * 5000, "GW_00000000_x", "gw_\x00\x00\x00\x00", "gw_ä€😀"],
)
def test_verify_knows_no_other_key(client: Client, plaintext: str) -> None:
    made(client)

    assert api_keys.verify(plaintext) is None


def test_verify_needs_the_whole_secret(client: Client) -> None:
    key, plaintext = made(client)

    for wrong in (plaintext[:-1], plaintext + "x", key.prefix, plaintext.swapcase(), f"{key.prefix}_{key.secret_hash}"):
        assert api_keys.verify(wrong) is None
    assert api_keys.verify(plaintext) is not None


def test_verify_asks_the_database_once(client: Client, django_assert_num_queries: Any) -> None:
    _, plaintext = made(client)

    with django_assert_num_queries(1):
        verified(plaintext)
    with django_assert_num_queries(0):
        verified(plaintext)


def test_verify_asks_for_an_unknown_key_once_a_second(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        for _ in range(5):
            assert api_keys.verify("gw_00000000_unknown") is None


def test_verify_of_a_key_made_elsewhere_a_moment_later(client: Client) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api_keys.secrets, "token_hex", lambda _: "00000000")
        patch.setattr(api_keys.secrets, "token_urlsafe", lambda _: "known")
        assert api_keys.verify("gw_00000000_known") is None
        made(client)

    api_keys.follow()

    assert api_keys.verify("gw_00000000_known") is not None


def test_verify_slows_down_who_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "MISSES_PER_SECOND", 1)  # whatever the speed of this machine
    guesses = [f"gw_{number:08x}_guess" for number in range(20)]

    with pytest.raises(api_keys.TooManyUnknownKeys):
        list(map(api_keys.verify, guesses))


def test_key_expires_without_being_followed(client: Client) -> None:
    _, plaintext = made(client, expires_at=AT)

    with time_machine.travel(AT - timedelta(microseconds=1), tick=False):
        assert api_keys.verify(plaintext) is not None
    with time_machine.travel(AT, tick=False):
        assert api_keys.verify(plaintext) is None


def test_rotate_makes_a_successor_with_the_same_rights(client: Client) -> None:
    old, plaintext = made(client, name="laptop", subject="me", scopes=["help"], rate=7)

    new, successor = api_keys.rotate(old, by="admin", at=AT, overlap=timedelta(hours=1))

    assert (new.client, new.name, new.subject, new.scopes, new.rate) == (client, "laptop", "me", ["help"], 7)
    assert (new.rotated_from, new.created_by, new.expires_at) == (old, "admin", None)
    with time_machine.travel(AT + timedelta(minutes=59), tick=False):
        assert api_keys.verify(plaintext) is not None
        assert api_keys.verify(successor) is not None
    with time_machine.travel(AT + timedelta(hours=1), tick=False):
        assert api_keys.verify(plaintext) is None
        assert api_keys.verify(successor) is not None


def test_rotate_never_lengthens_the_life_of_the_old_key(client: Client) -> None:
    old, _ = made(client, expires_at=AT + timedelta(minutes=5))

    api_keys.rotate(old, by="admin", at=AT, overlap=timedelta(hours=1))

    old.refresh_from_db()
    assert old.expires_at == AT + timedelta(minutes=5)


def test_rotate_of_a_key_that_lives_as_long_as_a_date_can(client: Client) -> None:
    old, _ = made(client, expires_at=datetime(9999, 12, 31, tzinfo=UTC))

    new, _ = api_keys.rotate(old, by="admin", at=AT, overlap=timedelta(hours=1))

    assert new.expires_at is not None
    assert new.expires_at.year == 9999


def test_revoke_is_at_once_and_for_good(client: Client) -> None:
    key, plaintext = made(client)
    verified(plaintext)

    api_keys.revoke(key, at=AT)
    api_keys.revoke(key, at=AT + timedelta(days=1))

    assert api_keys.verify(plaintext) is None
    key.refresh_from_db()
    assert key.revoked_at == AT


@pytest.mark.parametrize("change", ["revoked", "client off", "deleted", "scopes", "patterns"])
def test_follow_drops_a_key_that_was_changed_elsewhere(client: Client, change: str) -> None:
    key, plaintext = made(client)
    before = verified(plaintext)
    if change == "revoked":
        key.revoked_at = timezone.now()
        key.save()
    elif change == "client off":
        client.is_active = False
        client.save()
    elif change == "deleted":
        client.delete()
    elif change == "scopes":
        key.scopes = ["help"]
        key.save()
    else:
        client.op_patterns = ["util.*"]
        client.save()

    api_keys.follow()

    after = api_keys.verify(plaintext)
    if change == "scopes":
        assert after is not None
        assert after.scopes == {"help"}
    elif change == "patterns":
        assert after is not None
        assert after.visibility != before.visibility
    else:
        assert after is None


def test_follow_keeps_a_key_that_was_not_changed(client: Client, django_assert_num_queries: Any) -> None:
    _, plaintext = made(client)
    verified(plaintext)
    api_keys.follow()  # writes the first use

    with django_assert_num_queries(1):
        api_keys.follow()
    with django_assert_num_queries(0):
        verified(plaintext)


def test_follow_drops_what_is_known_of_a_key_in_each_way(client: Client, django_assert_num_queries: Any) -> None:
    key, plaintext = made(client, rate=1)
    assert api_keys.get_by_id(key.pk)
    with django_assert_num_queries(0):
        assert api_keys.get_by_id(key.pk)
    key.rate = 2
    key.save()
    verified(plaintext)  # by the key itself, and as it is now

    api_keys.follow()

    found = api_keys.get_by_id(key.pk)
    assert found is not None
    assert (found.rate, verified(plaintext).rate) == (2, 2)


def test_follow_of_no_keys_costs_nothing(django_assert_num_queries: Any) -> None:
    api_keys.clear_cache()

    with django_assert_num_queries(0):
        api_keys.follow()


def test_last_use_is_written_at_most_once_a_minute(client: Client) -> None:
    key, plaintext = made(client)

    def used_at(moment: datetime) -> datetime | None:
        with time_machine.travel(moment, tick=False):
            verified(plaintext)
            api_keys.follow()
        key.refresh_from_db()
        return key.last_used_at

    assert key.last_used_at is None
    assert used_at(AT) == AT
    assert used_at(AT + timedelta(seconds=59)) == AT
    assert used_at(AT + timedelta(seconds=60)) == AT + timedelta(seconds=60)


def test_last_use_of_an_unused_key_is_not_written(client: Client) -> None:
    key, plaintext = made(client)
    with time_machine.travel(AT, tick=False):
        verified(plaintext)
        api_keys.follow()

    with time_machine.travel(AT + timedelta(hours=1), tick=False):
        api_keys.follow()

    key.refresh_from_db()
    assert key.last_used_at == AT


def test_forget_drops_all_memory(client: Client, django_assert_num_queries: Any) -> None:
    _, plaintext = made(client)
    verified(plaintext)

    api_keys.clear_cache()

    with django_assert_num_queries(1):
        verified(plaintext)


@pytest.mark.parametrize(
    ("scopes", "kinds"),
    [
        (["help"], {"read", "write"}),  # a key that can run nothing reads everything
        (["help", "exec:read"], {"read"}),
        (["help", "exec:write"], {"write"}),
        (["exec:read", "exec:write"], {"read", "write"}),
    ],
)
def test_key_sees_the_kinds_that_it_may_run(client: Client, scopes: list[str], kinds: set[str]) -> None:
    _, plaintext = made(client, scopes=scopes)

    assert verified(plaintext).visibility.kinds == kinds


def test_rate_of_nothing_breaks_its_constraint(client: Client) -> None:
    with pytest.raises(IntegrityError, match="key_rate_positive"):
        made(client, rate=0)


def test_scopes_are_a_list_in_json(client: Client) -> None:
    key, _ = made(client, scopes=("help",))

    assert json.dumps(key.scopes) == '["help"]'
