from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.request_context import UserContext, identify_caller, is_uuid, read_trace_id
from gateway.contracts.errors import InvalidRequestError, PermissionDeniedError
from tests.support.rows.sample_ops import build_verified_key

ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"


def read_context(header: str) -> UserContext:
    return identify_caller(build_verified_key(), {"HTTP_GATEWAY_CONTEXT": header}).context


@pytest.mark.parametrize(
    ("header", "context"),
    [
        ("type=project", UserContext(type="project")),
        (f'type=project, project_id="{ID}"', UserContext(type="project", project_id=ID)),
        (f'entity_type=task,   entity_id="{ID}"', UserContext(entity_type="task", entity_id=ID)),
        ("type=global;source=page", UserContext(type="global")),  # parameters are ignored
        ("type=project, locale=de", UserContext(type="project")),  # unknown members are ignored
        (f'type=a, type=b, project_id="{ID}"', UserContext(type="b", project_id=ID)),  # the last one counts (RFC 9651)
    ],
)
def test_context_header_is_a_structured_dictionary(header: str, context: UserContext) -> None:
    assert read_context(header) == context


def test_purpose_is_context_or_none() -> None:
    assert identify_caller(build_verified_key(), {}).purpose == ""
    assert identify_caller(build_verified_key(), {"HTTP_GATEWAY_PURPOSE": "context"}).purpose == "context"
    with pytest.raises(InvalidRequestError, match=r"Gateway-Purpose is malformed\. Send context, or leave it out"):
        identify_caller(build_verified_key(), {"HTTP_GATEWAY_PURPOSE": "page"})


@pytest.mark.parametrize(
    "header",
    [
        "type=",
        "=project",
        'type="project',
        '{"type": "project"}',
        "Type=project",  # keys are lower-case
        "type=\x00",
        f"project_id={ID}",  # a token cannot begin with a digit, so an id needs quotes
        'project_id="0d9a4c1e"',
        "project_id",  # means true
        f'project_id="{ID.replace("-", "")}"',
        "type=" + "x" * 101,
        "€",
    ],
)
def test_malformed_context_is_refused(header: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        read_context(header)

    assert (error.value.status, error.value.reason) == (400, "bad_header")
    assert "Gateway-Context" in str(error.value)


@given(st.text(max_size=60) | st.text("abc=;,?()\":@%'*-_0123456789 \t", max_size=40))
def test_context_of_any_text_is_parsed_or_refused(header: str) -> None:
    try:
        context = read_context(header)
    except InvalidRequestError as error:
        assert error.reason == "bad_header"  # noqa: PT017 - both outcomes are valid
    else:
        assert isinstance(context, UserContext)


@pytest.mark.parametrize(
    ("bound", "pattern", "header", "subject"),
    [
        ("", "*", "anybody", "anybody"),
        ("", "*", None, ""),
        ("", "acme-*", "acme-7", "acme-7"),
        ("me", "*", None, "me"),
        ("me", "*", "me", "me"),
        ("", "*", " padded ", "padded"),
    ],
)
def test_subject_comes_from_the_header_or_the_key(bound: str, pattern: str, header: str | None, subject: str) -> None:
    meta = {} if header is None else {"HTTP_GATEWAY_SUBJECT": header}

    assert identify_caller(build_verified_key(bound_subject=bound, subject_pattern=pattern), meta).subject == subject


@pytest.mark.parametrize(
    ("bound", "pattern", "header"),
    [
        ("me", "acme-*", "me"),
        ("me", "*", "you"),
        ("me", "*", "ME"),
        ("", "acme-*", "other"),
        ("", "a?", "abc"),
    ],
)
def test_subject_that_the_key_does_not_allow_is_denied(bound: str, pattern: str, header: str) -> None:
    with pytest.raises(PermissionDeniedError) as error:
        identify_caller(
            build_verified_key(bound_subject=bound, subject_pattern=pattern), {"HTTP_GATEWAY_SUBJECT": header}
        )

    assert (error.value.status, error.value.reason) == (403, "subject_not_allowed")


@pytest.mark.parametrize("name", ["HTTP_GATEWAY_SUBJECT", "HTTP_GATEWAY_SESSION", "HTTP_GATEWAY_TURN"])
@pytest.mark.parametrize("value", ["two words", "ä", "x" * 201, "a\x00b", "a\tb"])
def test_opaque_headers_accept_only_visible_ascii(name: str, value: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        identify_caller(build_verified_key(), {name: value})

    assert error.value.reason == "bad_header"
    assert value not in str(error.value)


def test_empty_subject_header_is_refused() -> None:
    with pytest.raises(InvalidRequestError):
        identify_caller(build_verified_key(bound_subject="me"), {"HTTP_GATEWAY_SUBJECT": ""})


def test_trace_id_comes_from_the_caller_or_is_new() -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"

    assert read_trace_id({"HTTP_TRACEPARENT": f"00-{trace}-b7ad6b7169203331-01"}) == f"tr_{trace}"
    assert read_trace_id({}) != read_trace_id({})
    assert len(read_trace_id({})) == 35


@given(st.text())
def test_trace_id_of_any_traceparent_is_valid(header: str) -> None:
    trace_id = read_trace_id({"HTTP_TRACEPARENT": header})

    assert len(trace_id) == 35
    assert int(trace_id.removeprefix("tr_"), 16) > 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ID, True),
        (ID.upper(), True),
        (ID.replace("-", ""), False),
        (f"{{{ID}}}", False),
        (ID[:8] + ID[9:] + "-", False),
    ],
)
def test_is_uuid_accepts_the_long_form_only(text: Any, expected: bool) -> None:
    assert is_uuid(text) is expected
