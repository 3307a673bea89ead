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
        ("获取天气", "huo qu tian qi"),
        ("списокКлиентов", "spisok klientov"),
        ("getUserIDs", "get user ids"),
        ("c2c-connectors", "c2c connectors"),
        ("***", ""),
        ("", ""),
    ],
)
def test_split(name: str, expected: str) -> None:
    assert " ".join(tool_name_words.split_name(name)) == expected


@pytest.mark.parametrize(
    "words",
    [
        "users user companies company boxes box classes class queries query branches branch devices device",
        "movies movie heroes hero matrices matrix children child leaves leaf indices index criteria criterion",
        "statuses status analyses analysis addresses address buses bus caches cache aliases alias people person",
        "atlas atlas status status news news series series data data analysis analysis kubernetes kubernetes",
        "stats stats settings settings metadata metadata dns dns media media lens lens canvas canvas gas gas",
        "webhooks webhook apis api ips ip vlans vlan emojis emoji",  # not in the dictionary
    ],
)
def test_singular(words: str) -> None:
    pairs = list(zip(words.split()[::2], words.split()[1::2], strict=True))

    assert {word: tool_name_words.to_singular(word) for word, _ in pairs} == dict(pairs)


@pytest.mark.parametrize(
    ("text", "word"),
    [("Leaves a room", "leave"), ("Creates a pet", "create"), ("Copies it", "copy"), ("Lists", "list")],
)
def test_first_word_of_a_description_is_an_infinitive(text: str, word: str) -> None:
    assert tool_name_words.get_first_word(text) == word


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
