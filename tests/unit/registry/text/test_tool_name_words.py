"""Words in tool names."""

import pytest

from core.text import english
from registry.text import tool_name_words


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get_user", "get user"),
        ("getUserByID", "get user by id"),
        ("HTTPServerError", "http server error"),
        ("list-open-issues", "list open issues"),
        ("createIoTDevice", "create iot device"),
        ("auth0Login", "auth0 login"),
        ("version_v3", "version v3"),
        ("2fa_enable", "2fa enable"),
        ("S3Bucket", "s3 bucket"),
        ("menú_del_día", "menu del dia"),
        ("获取天气", ""),
        ("", ""),
    ],
)
def test_split(name: str, expected: str) -> None:
    assert " ".join(tool_name_words.split_name(name)) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("users", "user"),
        ("companies", "company"),
        ("boxes", "box"),
        ("status", "status"),
        ("news", "news"),
        ("analysis", "analysis"),
        ("classes", "class"),
    ],
)
def test_singular(word: str, expected: str) -> None:
    assert tool_name_words.to_singular(word) == expected


@pytest.mark.parametrize(
    ("name", "description", "verb"),
    [
        ("get_user", "", "get"),
        ("user_get", "", "get"),
        ("gmail_send_message", "", "send"),
        ("flight_book", "", None),
        ("orderStatus", "Tells it", "order"),
        ("irrigateCrop", "Irrigate a crop", "irrigate"),
        ("irrigateCrop", "Waters a crop", None),
        ("weather", "Get the weather", None),
        ("search", "", "search"),
        ("", "", None),
    ],
)
def test_verb(name: str, description: str, verb: str | None) -> None:
    words = tool_name_words.split_name(name)
    place = tool_name_words.find_verb(words, description)

    assert (None if place is None else words[place]) == verb


@pytest.mark.parametrize(
    ("name", "verb", "is_write"),
    [
        ("get_user", "get", False),
        ("search_all", "search", False),
        ("delete_user", "delete", True),
        ("frobnicate_user", "frobnicate", True),
        ("get_or_create_user", "get", True),
        ("find_and_replace_text", "find", True),
        ("get_terms_and_conditions", "get", False),
    ],
)
def test_unknown_verb_counts_as_a_write(name: str, verb: str, is_write: bool) -> None:
    assert tool_name_words.has_write_verb(tool_name_words.split_name(name), verb) is is_write


def test_read_and_write_verbs_do_not_overlap() -> None:
    assert not english.READ_VERBS & tool_name_words.WRITE_VERBS
    assert set(english.COMMON_VERBS) & english.READ_VERBS
    assert (
        not {action for verb, action in english.COMMON_VERBS.items() if verb in english.READ_VERBS}
        & tool_name_words.WRITE_VERBS
    )
