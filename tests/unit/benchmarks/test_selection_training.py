"""The model of turns learns from labelled conversations, and the shipped one is made from those in the repository."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from benchmarks import selection, selection_training
from benchmarks.joined_turns import join_turns
from gateway.toolset.selection.turn_model import PATH, TurnModel

if not apps.is_installed("workspace"):
    pytest.skip("by design: selects among the workspace's ops", allow_module_level=True)


def build_line(name: str, message: str, need: str, intent: str) -> str:
    turn: dict[str, Any] = {"message": message, "needs": [need], "intent": intent}
    return json.dumps({"conversation": name, "split": "dev", "context": {"type": "project"}, "turns": [turn]})


LINES = [
    *(build_line(f"a{at}", f"blorp the {word}", "delete_onto_risk", "write") for at, word in enumerate("xyzuvw")),
    *(build_line(f"a{at}", f"quib the {word}", "list_onto_goals", "read") for at, word in enumerate("xyzuvw")),
]


def test_model_learns_what_unknown_words_mean_and_is_the_same_from_a_file(tmp_path: Path) -> None:
    model = selection_training.train(list(selection_training.read_training_turns(LINES)))
    model.save(tmp_path / "model.npz", selection_training.compute_digest(LINES))

    held_out = [build_line("b1", "blorp that", "delete_onto_risk", "write"), build_line("b2", "quib it", "x", "read")]
    write, read = selection.replay_conversations(held_out, TurnModel.load(tmp_path / "model.npz"))

    assert write.is_complete
    assert write.writes
    assert read.writes == 0


def join(first: tuple[str, str], second: tuple[str, str], reply: str = "One.") -> list[Any]:
    """Return the last turns that are made from many conversations of these two: (message, intent)."""
    needs = {"read": "list_onto_tasks", "write": "update_onto_task"}
    turns = [{"message": text, "intent": intent, "needs": [needs[intent]]} for text, intent in (first, second)]
    turns[0]["reply"] = reply
    lines = [json.dumps({"conversation": f"c{at}", "language": "en", "turns": turns}) for at in range(8)]
    return [json.loads(line)["turns"][-1] for line in join_turns(lines)]


def test_reads_and_changes_that_follow_each_other_are_also_learned_as_one_turn() -> None:
    joined = join(("What is due today?", "read"), ("move it to Friday", "write"))

    assert {turn["message"] for turn in joined} == {
        "What is due today and move it to Friday",
        "What is due today, then move it to Friday",
        "What is due today? Also move it to Friday",
        "What is due today? move it to Friday",
    }
    assert [turn["needs"] for turn in joined] == [["list_onto_tasks", "update_onto_task"]] * 4
    assert {turn["intent"] for turn in joined} == {"mixed"}


@pytest.mark.parametrize(
    ("second", "reply"),
    [
        (("and tomorrow, too?", "read"), "One."),
        (("yes please", "write"), "One."),
        (("the one on top", "write"), "Which?"),
    ],
    ids=["two reads", "too short", "answers a question"],
)
def test_turns_that_make_no_sense_as_one_are_not_joined(second: tuple[str, str], reply: str) -> None:
    assert join(("What is due today?", "read"), second, reply) == []


def test_shipped_model_is_trained_on_the_labelled_conversations() -> None:
    digest = selection_training.compute_digest(selection_training.read_lines())

    assert TurnModel.read_digest(PATH) == digest  # else run: manage.py train_selection


def test_labels_name_tools_that_exist_and_a_change_needs_one_that_writes() -> None:
    catalog = selection.build_labelled_catalog(("shop", "crm", "files", "stickies", "registry"))
    is_write = {op.tool_name: op.is_write for op in catalog.ops.values()}
    wrong = []
    for line in selection_training.read_lines():
        labels = json.loads(line)
        for turn in labels["turns"]:
            needs = selection.list_needs(turn)
            writes = any(all(is_write[name] for name in need) for need in needs)
            reads = not any(is_write[name] for need in needs for name in need)
            is_labelled_well = reads if turn["intent"] == "read" else writes or not needs
            if not is_labelled_well:
                wrong.append((labels["conversation"], turn["message"]))

    assert wrong == []
