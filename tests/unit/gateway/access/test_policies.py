import pytest

from gateway.access.policies import SCOPES, may_run
from gateway.clients.api_keys import VerifiedKey
from gateway.models import Scope
from gateway.request_context import Caller
from registry.catalog.model import Visibility
from registry.models import Op
from tests.support.sample_ops import op

EVERY = frozenset(Scope.values)
READS = frozenset({"help", "exec:read"})


def caller(scopes: frozenset[str], patterns: tuple[str, ...], subject: str) -> Caller:
    key = VerifiedKey(
        id=1,
        prefix="gw_00000000",
        client_id=1,
        client="chat",
        scopes=scopes,
        bound_subject="",
        subject_pattern="*",
        visibility=Visibility(patterns),
        confirms=False,
        rate=50,
        expires_at=None,
        stamp=(None, None),  # type: ignore[arg-type]  # nothing here looks at it
    )
    return Caller(key, subject=subject)


@pytest.mark.parametrize(
    ("kind", "needs_subject", "scopes", "patterns", "subject", "reason"),
    [
        ("read", True, EVERY, ("*",), "me", ""),
        ("write", True, EVERY, ("*",), "me", ""),
        ("read", True, READS, ("*",), "me", ""),
        ("write", True, READS, ("*",), "me", "scope_missing"),
        ("read", True, frozenset({"exec:write"}), ("*",), "me", "scope_missing"),
        ("read", True, frozenset({"help"}), ("*",), "me", "scope_missing"),
        ("read", True, EVERY, ("onto.task.*",), "me", ""),
        ("read", True, EVERY, ("util.*", "onto.*"), "me", ""),
        ("read", True, EVERY, ("onto.task",), "me", "op_not_allowed"),  # a pattern is of whole paths
        ("read", True, EVERY, ("ONTO.*",), "me", "op_not_allowed"),
        ("read", True, EVERY, (), "me", "op_not_allowed"),
        ("read", True, EVERY, ("*",), "", "subject_required"),
        ("read", False, EVERY, ("*",), "", ""),
        ("write", True, READS, (), "", "scope_missing"),  # the first that applies is told
        ("read", True, EVERY, (), "", "op_not_allowed"),
    ],
)
def test_may_run(
    kind: str, needs_subject: bool, scopes: frozenset[str], patterns: tuple[str, ...], subject: str, reason: str
) -> None:
    decision = may_run(caller(scopes, patterns, subject), op(kind=kind, needs_subject=needs_subject))

    assert decision.reason == reason
    assert decision.allowed is (reason == "")
    assert bool(decision.message) is (reason != "")


def test_scopes_know_every_kind_of_op() -> None:
    assert set(SCOPES) == set(Op.Kind.values)
