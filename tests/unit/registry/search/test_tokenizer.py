"""Words: one form for all spellings in any script; queries without polite words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search import tokenizer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dueAt due_at due-at DUE.AT", ["due", "at"] * 4),
        ("getHTTPResponse", ["get", "http", "response"]),
        ("naïve Ünïcode", ["naive", "unicode"]),
        ("日本語の天気", ["日本", "本語", "語の", "の天", "天気"]),  # pairs: no spaces
        ("ภาษา", ["ภา", "าษ", "ษา"]),
        ("할일 목록", ["할일", "목록"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # vowel signs are part of a word
        ("مُهِمَّة", ["مهمة"]),  # vowel signs are left out
        ("Straße", ["strasse"]),
        ("add a to-do", ["add", "a", "todo"]),  # both parts are stop words
        ("read-only", ["read", "only"]),
        ("a\nb", ["a", "\n", "b"]),
        ("?! _", []),
        ("", []),
    ],
)
def test_split_folds_case_and_accents(text: str, words: list[str]) -> None:
    assert tokenizer.split_words(text) == words


def test_stem_is_shared_by_inflections_and_empty_for_stop_words() -> None:
    for inflected in ("task tasks", "create created creating", "activity activities", "list listing"):
        assert len({tokenizer.stem(word) for word in inflected.split()}) == 1, inflected
    assert [tokenizer.stem(word) for word in ("the", "please", "status")] == ["", "", "status"]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("Could you please list my tasks?", "list my tasks?"),
        ("Hi, can you help me to move a deadline", "move a deadline"),
        ("I'd like to rename a project", "rename a project"),
        ("Find the weather in 'Paris' at 9:30", "Find the weather in   at  "),
        ("mail someone@example.com the report", "mail   the report"),
        ("what does https://example.com/a say", "what does  url  say"),  # ops that take one have an argument url
        ("upload to s3", "upload to s3"),  # not a value: a name with a digit
        ("rename 'create task'", "rename 'create task'"),  # too few words would remain
        ("read row ksj29d8qhW and 0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01", "read row   and  "),
    ],
)
def test_query_words_leave_out_polite_words_and_values(request_: str, expected: str) -> None:
    assert tokenizer.extract_request(request_) == expected


@pytest.mark.parametrize(
    ("request_", "clauses"),
    [
        ("list open tasks and then create a project", ["list open tasks", "create a project"]),
        ("Read the budget. Could you also send the report?", ["Read the budget", "send the report"]),
        ("list open tasks", []),
    ],
)
def test_query_is_split_into_clauses(request_: str, clauses: list[str]) -> None:
    assert tokenizer.split_clauses(request_) == clauses


def test_normalised_name_is_equal_for_all_spellings() -> None:
    assert {tokenizer.normalise_name(name) for name in ("onto.task.list", "ontoTaskList", "ONTO_TASK-LIST")} == {
        "ontotasklist"
    }


@given(st.text())
def test_words_of_any_text_have_no_punctuation_or_spaces(text: str) -> None:
    for word in tokenizer.split_words(text):
        assert word == tokenizer.BREAK or not any(character.isspace() for character in word)
        tokenizer.stem(word)
    tokenizer.split_clauses(tokenizer.extract_request(text))
