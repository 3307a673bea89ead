"""Actions of queries and ops, and families of ops, among them those that find the ids which others need."""

from typing import Any

import numpy as np
import pytest

from core.text import english
from registry.catalog.model import CatalogOp
from registry.search import intent, tokenizer
from registry.search.intent import LOOKUP_WEIGHT, MIN_DISTANCE, IdLookups
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema


@pytest.mark.parametrize(
    ("request_", "action"),
    [
        ("create a task", intent.CREATE),
        ("adding members", intent.CREATE),
        ("list tasks to delete", intent.READ),  # the first verb
        ("rename it", intent.UPDATE),
        ("bump the offline rule to the top", intent.UPDATE),
        ("weather tomorrow", ""),
        ("the long winding road past a place where something is to delete", ""),  # the verb comes too late
        ("what is late", intent.READ),  # a question without a verb
        ("my tasks", intent.READ),
        ("what to delete", intent.DELETE),
        ("", ""),
    ],
)
def test_query_action_comes_from_its_first_verb(request_: str, action: str) -> None:
    assert intent.detect_request_action(tokenizer.split_words(request_)) == action


@pytest.mark.parametrize(
    ("fields", "action"),
    [
        ({"kind": "write", "action": "delete", "tool_name": "list_tasks"}, intent.DELETE),
        ({"kind": "write", "tool_name": "createTasks"}, intent.CREATE),
        ({"kind": "write", "action": "frobnicate", "tool_name": "weather"}, ""),
        ({"kind": "read", "action": "get", "tool_name": "get_links"}, intent.READ),
    ],
)
def test_op_action_comes_from_its_record_or_its_name(fields: dict[str, str], action: str) -> None:
    assert intent.detect_op_action(build_catalog(build_op_entry("a.b", **fields)).ops["a.b"]) == action


def test_each_verb_means_one_action() -> None:
    actions_by_stem: dict[str, set[str]] = {}
    for verb, action in english.REQUEST_VERBS.items():
        actions_by_stem.setdefault(tokenizer.stem(verb), set()).add(action)

    assert all(len(actions) == 1 for stem, actions in actions_by_stem.items() if stem)


def build_ops(*entries: dict[str, Any]) -> list[CatalogOp]:
    return list(build_catalog(*entries).ops.values())


@pytest.mark.parametrize(
    ("path", "tool_name", "family"),
    [
        ("a.b", "spotify.get_track", "spotify"),
        ("a.b", "spotify/get_track", "spotify"),
        ("a.b", "spotify__get_track", "spotify"),
        ("a.b", "get_track", "a.b"),  # directly in a group of the root: no family
        ("onto.task.get", "get_onto_task", "onto.task"),
    ],
)
def test_family_is_the_namespace_or_the_group(path: str, tool_name: str, family: str) -> None:
    assert intent.get_family(build_ops(build_op_entry(path, tool_name=tool_name))[0]) == family


NEEDS_ID = build_schema(track_id={"type": "string"})
TRACKS = [
    build_op_entry("a.get", tool_name="spotify.get_track", parameters_schema=NEEDS_ID),
    build_op_entry("a.search", tool_name="spotify.search_for_track"),
    build_op_entry("a.list", tool_name="spotify.list_tracks"),
    build_op_entry("b.search", tool_name="deezer.search_tracks"),
]


def raise_scores(scores: list[float], *entries: dict[str, Any]) -> list[float]:
    raised = np.array(scores, dtype=np.float32)
    IdLookups(build_ops(*entries)).raise_scores(raised, raised > 0)
    return [round(float(score), 3) for score in raised]


def test_op_that_finds_the_id_comes_right_behind_the_op_that_needs_it() -> None:
    assert raise_scores([0.9, 0.7, 0.0, 0.0], *TRACKS) == [0.9, 0.9 - MIN_DISTANCE, 0, 0]
    assert raise_scores([0.9, 0.1, 0.0, 0.0], *TRACKS) == [0.9, round(0.1 + LOOKUP_WEIGHT, 3), 0, 0]
    without_search = [entry for entry in TRACKS if entry["op"] != "a.search"]
    assert raise_scores([0.9, 0.8, 0.0], *without_search) == [0.9, 0.899, 0]
    scores = np.array([0.9, 0.1, 0.0, 0.0], dtype=np.float32)
    assert IdLookups(build_ops(*TRACKS)).raise_scores(scores, scores < 0) == []  # none is a candidate


def test_id_in_the_name_counts_as_well() -> None:
    movies = [
        build_op_entry("a.credits", tool_name="tmdb.get_movie_movie_id_credits"),
        build_op_entry("a.search", tool_name="tmdb.get_search_movie"),
    ]

    assert raise_scores([0.9, 0.8], *movies) == [0.9, 0.899]


@pytest.mark.parametrize("name", ["spotify.search_by_track_id", "spotify.search_track_audio_analysis_segments"])
def test_op_that_needs_the_id_itself_or_finds_something_else_is_not_raised(name: str) -> None:
    assert raise_scores([0.9, 0.5], TRACKS[0], build_op_entry("a.other", tool_name=name)) == [0.9, 0.5]


def test_lower_op_raises_less() -> None:
    other = build_op_entry("c.best", tool_name="best.thing")

    _, first, raised, *_ = raise_scores([1.0, 0.8, 0.2, 0.0, 0.0], other, *TRACKS)
    assert first == pytest.approx(0.8)
    assert 0.2 < raised < 0.2 + LOOKUP_WEIGHT / 2
