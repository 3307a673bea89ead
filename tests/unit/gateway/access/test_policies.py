import pytest

from gateway.access.policies import SCOPES, may_run
from gateway.access.request_context import Caller
from gateway.models import Scope
from registry.catalog.model import Visibility
from registry.models import Op
from tests.support.rows.sample_ops import build_op, build_verified_key

ALL_SCOPES = frozenset(Scope.values)
READ_SCOPES = frozenset({"help", "exec:read"})


def build_caller(scopes: frozenset[str], patterns: tuple[str, ...], subject: str) -> Caller:
    return Caller(build_verified_key(scopes=scopes, visibility=Visibility(patterns)), subject=subject)


@pytest.mark.parametrize(
    ("kind", "needs_subject", "scopes", "patterns", "subject", "reason"),
    [
        ("read", True, ALL_SCOPES, ("*",), "me", ""),
        ("read", True, READ_SCOPES, ("*",), "me", ""),
        ("write", True, READ_SCOPES, ("*",), "me", "scope_missing"),
        ("read", True, frozenset({"exec:write"}), ("*",), "me", "scope_missing"),
        ("read", True, ALL_SCOPES, ("onto.task.*",), "me", ""),
        ("read", True, ALL_SCOPES, ("onto.task",), "me", "op_not_allowed"),  # a pattern matches whole paths
        ("read", True, ALL_SCOPES, ("ONTO.*",), "me", "op_not_allowed"),
        ("read", True, ALL_SCOPES, (), "me", "op_not_allowed"),
        ("read", True, ALL_SCOPES, ("*",), "", "subject_required"),
        ("read", False, ALL_SCOPES, ("*",), "", ""),
        ("write", True, READ_SCOPES, (), "", "scope_missing"),  # the first failing check is reported
        ("read", True, ALL_SCOPES, (), "", "op_not_allowed"),
    ],
)
def test_may_run_decides_by_scope_pattern_and_subject(
    kind: str, needs_subject: bool, scopes: frozenset[str], patterns: tuple[str, ...], subject: str, reason: str
) -> None:
    decision = may_run(build_caller(scopes, patterns, subject), build_op(kind=kind, needs_subject=needs_subject))

    assert decision.reason == reason
    assert decision.allowed is (reason == "")
    assert bool(decision.message) is (reason != "")


def test_scopes_cover_every_kind_of_op() -> None:
    assert set(SCOPES) == set(Op.Kind.values)
