import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.utils import timezone

from gateway.access import key_verification
from gateway.models import ApiKey, Client, all_scopes
from tests.support.loops import for_each

pytestmark = pytest.mark.django_db


def run_create_api_key(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("create_api_key", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_command_prints_only_the_key_to_stdout() -> None:
    out, err = run_create_api_key("chat")

    key = key_verification.verify(out.removesuffix("\n"))
    assert key is not None
    assert (key.client, key.scopes, key.rate) == ("chat", set(all_scopes()), 50)
    assert key.prefix in err
    assert out.strip() not in err


def test_command_creates_a_key_with_the_given_options() -> None:
    options = "--name laptop --subject acme-7 --scopes help exec:read --rate 7 --days 3 --subjects acme-* --ops"
    out, _ = run_create_api_key("chat", *options.split(), "onto.*", "util.*")

    key, client = ApiKey.objects.get(), Client.objects.get()
    assert out.startswith(key.prefix)
    assert (key.name, key.subject, key.scopes, key.rate) == ("laptop", "acme-7", ["help", "exec:read"], 7)
    assert key.expires_at is not None
    assert timedelta(days=2) < key.expires_at - timezone.now() <= timedelta(days=3)
    assert (client.subject_pattern, client.op_patterns) == ("acme-*", ["onto.*", "util.*"])
    assert key.created_by == "create_api_key"


def test_command_adds_a_key_to_an_existing_client() -> None:
    run_create_api_key("chat")
    run_create_api_key("chat")

    assert Client.objects.get().keys.count() == 2


@for_each(
    "arguments, message",
    [
        (("old", "--ops", "onto.*"), ""),  # ops of an existing client are changed in the console
        (("old", "--subjects", "acme-*"), ""),
        (("new", "--scopes", "everything"), ""),
        (("new", "--rate", "many"), ""),
        (("x" * 101,), ""),
        ((), ""),
        (("new", "--days", "0"), "days must be 1 to 3650"),
        (("new", "--days", "99999999"), "days must be 1 to 3650"),
        (("new", "--rate", "0"), "at least 1 request per second"),
        (("new", "--subjects", "acme-*", "--subject", "bob"), "match acme-*"),
        (("new", "--subject", "é x"), "visible ASCII"),
    ],
    undone=True,
)
def test_command_refuses_invalid_arguments_and_creates_nothing(arguments: tuple[str, ...], message: str) -> None:
    Client.objects.create(name="old")

    with pytest.raises(CommandError, match=re.escape(message) or "."):
        run_create_api_key(*arguments)

    assert not ApiKey.objects.exists()


@for_each("patterns", [[], "onto.*", [""], [1], {"onto.*": 1}])
def test_client_with_malformed_patterns_is_invalid(patterns: Any) -> None:
    with pytest.raises(ValidationError) as error:
        Client(name="chat", op_patterns=patterns).full_clean()

    assert set(error.value.message_dict) == {"op_patterns"}
