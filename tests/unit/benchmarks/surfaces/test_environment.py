from pathlib import Path

from benchmarks.surfaces.environment import build_variables
from benchmarks.surfaces.plan import EvaluationPlan


def build_plan(model: str) -> EvaluationPlan:
    return EvaluationPlan(model, ("gateway",), ("mark_done",), 1, 1, None, "")


def test_database_is_a_file_of_its_own(tmp_path: Path) -> None:
    variables = build_variables(build_plan("scripted"), tmp_path)

    assert variables["DATABASE_URL"] == f"sqlite:///{tmp_path}/evaluation.sqlite3"
    assert variables["PROMETHEUS_MULTIPROC_DIR"] == f"{tmp_path}/metrics"


def test_scripted_model_is_used_even_if_a_model_is_configured(tmp_path: Path) -> None:
    assert build_variables(build_plan("scripted"), tmp_path)["LLM_BASE_URL"] == ""


def test_tier_is_that_of_the_plan_and_the_endpoint_that_of_the_settings(tmp_path: Path) -> None:
    variables = build_variables(build_plan("main"), tmp_path)

    assert variables["CHAT_MODEL_TIER"] == "main"
    assert "LLM_BASE_URL" not in variables
