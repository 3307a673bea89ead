from core.text import notes
from tests.support.loops import for_each


@for_each("note", ["", " \n", "x", "ok", "...", "- -"])
def test_note_that_says_nothing_is_refused_with_what_to_write(note: str) -> None:
    assert notes.find_note_problem(note, "what changed, and why") == "Write a few words: what changed, and why."


@for_each("note", ["fix", "r12", "Änderung", "修正了文字"])
def test_note_with_a_word_is_accepted(note: str) -> None:
    assert notes.find_note_problem(note, "what changed, and why") == ""
