from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.clients.api_keys import VerifiedKey
from gateway.contracts.errors import InvalidRequestError, PermissionDeniedError
from gateway.models import Scope
from gateway.request_context import UserContext, identify_caller, is_uuid, read_trace_id
from registry.catalog.model import FULL_VISIBILITY

ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"


def key(*, bound: str = "", pattern: str = "*") -> VerifiedKey:
    return VerifiedKey(
        id=1,
        prefix="gw_00000000",
        client_id=1,
        client="chat",
        scopes=frozenset(Scope.values),
        bound_subject=bound,
        subject_pattern=pattern,
        visibility=FULL_VISIBILITY,
        confirms=False,
        rate=50,
        expires_at=None,
        stamp=(None, None),  # type: ignore[arg-type]  # nothing here looks at it
    )


def context_of(header: str) -> UserContext:
    return identify_caller(key(), {"HTTP_GATEWAY_CONTEXT": header}).context


@pytest.mark.parametrize(
    ("header", "context"),
    [
        ("type=project", UserContext(type="project")),
        ('type="project"', UserContext(type="project")),
        (f'type=project, project_id="{ID}"', UserContext(type="project", project_id=ID)),
        (f'project_id="{ID.upper()}"', UserContext(project_id=ID.upper())),
        (f'entity_type=task,   entity_id="{ID}"', UserContext(entity_type="task", entity_id=ID)),
        ("type=global;source=page", UserContext(type="global")),  # a parameter
        ("type=project, locale=de", UserContext(type="project")),  # a newer client
        (f'type=a, type=b, project_id="{ID}"', UserContext(type="b", project_id=ID)),  # the last one counts (RFC 9651)
    ],
)
def test_context_is_a_structured_dictionary(header: str, context: UserContext) -> None:
    assert context_of(header) == context


@pytest.mark.parametrize(
    "header",
    [
        "type=",
        "type=project,",
        "=project",
        "type project",
        'type="project',
        '{"type": "project"}',
        "Type=project",  # keys are lower-case
        "type=pröject",
        "type=\x00",
        f"project_id={ID}",  # a token cannot begin with a digit: an id stands in quotes
        'project_id="0d9a4c1e"',
        'project_id=""',
        "project_id",  # means true
        "project_id=?1",
        f'project_id="{ID.replace("-", "")}"',
        'entity_id="the task"',
        "type=" + "x" * 101,
        "€",
    ],
)
def test_context_that_is_malformed_is_refused(header: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        context_of(header)

    assert (error.value.status, error.value.reason) == (400, "bad_header")
    assert "Gateway-Context" in str(error.value)


@given(st.text(max_size=60) | st.text("abc=;,?()\":@%'*-_0123456789 \t", max_size=40))
def test_context_of_any_text_is_read_or_refused(header: str) -> None:
    try:
        context = context_of(header)
    except InvalidRequestError as error:
        assert error.reason == "bad_header"  # noqa: PT017 - either outcome is right
    else:
        assert isinstance(context, UserContext)


@pytest.mark.parametrize(
    ("bound", "pattern", "named", "subject"),
    [
        ("", "*", "anybody", "anybody"),
        ("", "*", None, ""),
        ("", "acme-*", "acme-7", "acme-7"),
        ("", "acme-[0-9]", "acme-7", "acme-7"),
        ("me", "*", None, "me"),
        ("me", "*", "me", "me"),
        ("", "*", " padded ", "padded"),
    ],
)
def test_subject_is_named_or_the_keys_own(bound: str, pattern: str, named: str | None, subject: str) -> None:
    meta = {} if named is None else {"HTTP_GATEWAY_SUBJECT": named}

    assert identify_caller(key(bound=bound, pattern=pattern), meta).subject == subject


@pytest.mark.parametrize(
    ("bound", "pattern", "named"),
    [
        ("me", "acme-*", "me"),
        ("me", "*", "you"),
        ("me", "*", "ME"),
        ("", "acme-*", "other"),
        ("", "acme-*", "Acme-7"),
        ("", "a?", "abc"),
    ],
)
def test_subject_beyond_the_key_is_denied(bound: str, pattern: str, named: str) -> None:
    with pytest.raises(PermissionDeniedError) as error:
        identify_caller(key(bound=bound, pattern=pattern), {"HTTP_GATEWAY_SUBJECT": named})

    assert (error.value.status, error.value.reason) == (403, "subject_not_allowed")


@pytest.mark.parametrize("name", ["HTTP_GATEWAY_SUBJECT", "HTTP_GATEWAY_SESSION", "HTTP_GATEWAY_TURN"])
@pytest.mark.parametrize("value", ["two words", "ä", "x" * 201, "a\x00b", "a\tb"])
def test_opaque_name_is_visible_ascii(name: str, value: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        identify_caller(key(), {name: value})

    assert error.value.reason == "bad_header"
    assert value not in str(error.value)


def test_empty_subject_does_not_stand_for_the_keys_own() -> None:
    with pytest.raises(InvalidRequestError):
        identify_caller(key(bound="me"), {"HTTP_GATEWAY_SUBJECT": ""})


def test_trace_id_is_the_callers_or_a_new_one() -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"

    assert read_trace_id({"HTTP_TRACEPARENT": f"00-{trace}-b7ad6b7169203331-01"}) == f"tr_{trace}"
    assert read_trace_id({}) != read_trace_id({})
    assert len(read_trace_id({})) == 35


@given(st.text())
def test_trace_id_of_any_traceparent_has_one_form(header: str) -> None:
    made = read_trace_id({"HTTP_TRACEPARENT": header})

    assert len(made) == 35
    assert int(made.removeprefix("tr_"), 16) > 0


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (ID, True),
        (ID.upper(), True),
        (ID.replace("-", ""), False),
        (f"{{{ID}}}", False),
        ("", False),
        ("x" * 36, False),
        (ID[:8] + ID[9:] + "-", False),
    ],
)
def test_is_uuid_takes_the_long_form_only(text: Any, answer: bool) -> None:
    assert is_uuid(text) is answer
