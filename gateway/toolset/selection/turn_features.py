"""What the turn model looks at: the words of a message, what came before it, and where the user is."""

import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gateway.access.request_context import UserContext
from gateway.toolset.conversation import ToolsetConversation
from gateway.toolset.selection.candidates import get_focus
from gateway.toolset.shown_ops import resolve_context
from registry.catalog.model import CatalogOp
from registry.search import request_intent, tokenizer

MAX_WORDS = 60  # of the message
MAX_EARLIER_WORDS = 25  # of the last answer, its end, and of the message before, its beginning
MAX_RECENT = 4  # ops called lately
MAX_SHORT = 3  # words of a message that counts as a whole
BEGINNING = 4  # letters of a word, which its forms share
MAX_DIGITS = 3  # of a number, of which only the length counts
WORD = "w:"  # the prefix of a word of the message
MAX_SENTENCES = 4
PIECE_LENGTHS = (3, 4, 5)  # characters; words that are spelled or inflected in another way share most pieces
MAX_PIECES_TEXT = 400  # characters of the message
PIECE_BUCKETS = 2**17
_START, _END = "^", "$"
_SENTENCE_END = re.compile(r"(?<=[.!?;\n])\s")


@dataclass(frozen=True, slots=True)
class TurnSituation:
    """A conversation and where the user is. `recent` are the ops called lately, the newest first."""

    conversation: ToolsetConversation
    context: UserContext
    recent: Sequence[CatalogOp]
    named: Collection[str]  # kinds of rows


@dataclass(frozen=True, slots=True)
class TurnFeatures:
    """What a turn has, each once: names, whose prefixes say of which kind they are, and pieces of the message."""

    names: list[str]
    pieces: NDArray[np.int64]  # by number of the bucket


def read_features(turn: TurnSituation) -> TurnFeatures:
    """Return what a turn has."""
    words = list(map(_mask_digits, split_words(turn.conversation.message)[:MAX_WORDS]))
    names = list(dict.fromkeys([*_iter_situation(turn, words), *_iter_words(turn, words), *_iter_earlier(turn)]))
    return TurnFeatures(names, _hash_pieces(turn.conversation.message))


def split_sentences(turn: TurnSituation) -> list[TurnSituation]:
    """Return the turn with each sentence of its message instead of the whole, if it has two to four."""
    sentences = [each for each in _SENTENCE_END.split(turn.conversation.message) if each.strip()]
    if not 2 <= len(sentences) <= MAX_SENTENCES:
        return []
    return [replace(turn, conversation=replace(turn.conversation, message=each)) for each in sentences]


def split_words(text: str) -> list[str]:
    """Return the words of a text, without line breaks."""
    return tokenizer.split_words(text.replace("\n", " "))


def _hash_pieces(message: str) -> NDArray[np.int64]:
    text = f" {message[:MAX_PIECES_TEXT].lower()} "
    pieces = {text[at : at + length] for length in PIECE_LENGTHS for at in range(len(text) - length + 1)}
    buckets = {zlib.crc32(piece.encode(errors="surrogatepass")) % PIECE_BUCKETS for piece in pieces}
    return np.array(sorted(buckets), dtype=np.int64)


def _iter_situation(turn: TurnSituation, words: Sequence[str]) -> Iterator[str]:
    message = turn.conversation.message.rstrip()
    asks = message.endswith("?")
    yield f"state:{_describe_state(turn)}"
    yield f"asks:{asks}:{_describe_last(turn)}"
    yield f"length:{min(len(words) // 2, 8)}"
    yield f"place:{resolve_context(turn.context.type)}"
    yield f"context:{turn.context.type}"
    if focus := get_focus(turn.context):
        yield f"focus:{focus}"
    if asks and words:
        yield f"question:{words[0]}"
    for entity in turn.named:
        yield f"named:{entity}"
    for action in request_intent.detect_intent(tokenizer.extract_request(turn.conversation.message)).actions:
        yield f"action:{action}"


def _iter_words(turn: TurnSituation, words: Sequence[str]) -> Iterator[str]:
    last, state = _describe_last(turn), _describe_state(turn)
    for word in words:
        yield f"{WORD}{word}"
        yield f"{last}:{word}"
        if len(word) >= BEGINNING:
            yield f"beginning:{word[:BEGINNING]}"
    framed = [_START, *words, _END]
    for pair in pairwise(framed):
        yield "2:" + "_".join(pair)
    for triple in zip(framed, framed[1:], framed[2:], strict=False):
        yield "3:" + "_".join(triple)
    if words:
        yield f"first:{state}:{words[0]}"
    if words and len(words) <= MAX_SHORT:
        whole = "_".join(words)
        yield f"whole:{whole}"
        yield f"whole:{state}:{whole}"


def _iter_earlier(turn: TurnSituation) -> Iterator[str]:
    for at, op in enumerate(turn.recent[:MAX_RECENT]):
        entity = "service" if op.is_of_service else op.entity
        if at == 0:
            yield f"last_action:{op.action}"
            yield f"last_entity:{entity}"
        yield f"{'last' if at == 0 else 'before'}:{entity}.{op.action}"
    for word in split_words(turn.conversation.last_reply)[-MAX_EARLIER_WORDS:]:
        yield f"reply:{word}"
    for request in turn.conversation.earlier_requests[:1]:
        for word in split_words(request)[:MAX_EARLIER_WORDS]:
            yield f"earlier:{word}"


def _describe_last(turn: TurnSituation) -> str:
    """Return whether the last op read or wrote: what a statement means depends on it."""
    if not turn.recent:
        return "first"
    return "written" if turn.recent[0].is_write else "read"


def _describe_state(turn: TurnSituation) -> str:
    asked = "_asked" if turn.conversation.last_reply.rstrip().endswith("?") else ""
    return f"{_describe_last(turn)}{asked}"


def _mask_digits(word: str) -> str:
    return "0" * min(len(word), MAX_DIGITS) if word.isdigit() else word
