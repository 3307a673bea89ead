"""Notes and reasons that people write, which others read later: when one of them says enough."""

MIN_NOTE_LENGTH = 3  # letters and digits


def find_note_problem(note: str, asked: str) -> str:
    """Return what to write instead of a note that says nothing, or ""; `asked` is what the note must say."""
    return "" if sum(map(str.isalnum, note)) >= MIN_NOTE_LENGTH else f"Write a few words: {asked}."
