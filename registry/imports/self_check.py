"""Try each imported op with a call that is never sent, and find those that can never be called as documented.

The args are the op's own examples, or are built from its schema. The request is compared with the document.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from registry.imports.import_source import RequestCheck
from registry.jsonschema import samples, validator
from registry.jsonschema.samples import NoSample
from registry.request_mapping import RecordedRequest, RequestMapping, parse_mapping
from registry.snapshot.entries import OpEntry

NEVER = "It can never be called as documented: "
MAX_ARGUMENTS = 60  # optional ones that are tried


class UnsendableRequest(Exception):
    """No request can be built from these args. The message is a sentence."""


# Builds the request of a call without credentials. Only the gateway knows how. Raises UnsendableRequest.
RequestBuilder = Callable[[RequestMapping, Mapping[str, Any]], RecordedRequest]
_build_request: RequestBuilder | None = None


def set_request_builder(builder: RequestBuilder) -> None:
    """Set the function that builds requests."""
    global _build_request
    _build_request = builder


def find_uncallable(entry: OpEntry, documented: RequestCheck | None) -> list[str]:
    """Return a remark for what keeps an op, or one of its arguments, from being called; empty if nothing does."""
    schema = entry["parameters_schema"]
    remarks = _find_dead_arguments(schema)
    try:
        args = _choose_args(entry, schema)
    except NoSample as error:
        return [f"{NEVER}it {error}.", *remarks] if error.is_certain else remarks
    if (problem := _find_request_problem(entry, args, documented)) and _find_request_problem(
        entry, _build_full_args(schema, args), documented
    ):
        return [f"{NEVER}{problem}.", *remarks]
    return remarks


def _build_full_args(schema: dict[str, Any], args: dict[str, Any]) -> dict[str, Any]:
    """Return args with optional ones: without any, a request may have no body."""
    try:
        return args | cast(dict[str, Any], samples.build_rough_sample(schema, is_full=True))
    except NoSample:
        return args


def _choose_args(entry: OpEntry, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the first example that is valid, else args that are built. Raises NoSample.

    Texts that match a pattern are not always found. Then the args have the right form: the request tells enough.
    """
    for example in entry.get("examples", ()):
        if not validator.find_instance_problems(schema, example["args"]):
            return example["args"]
    try:
        return cast(dict[str, Any], samples.build_sample(schema))
    except NoSample as error:
        if error.is_certain:
            raise
        return cast(dict[str, Any], samples.build_rough_sample(schema))


def _find_request_problem(entry: OpEntry, args: Mapping[str, Any], documented: RequestCheck | None) -> str:
    if documented is None or not entry.get("request") or _build_request is None:
        return ""
    try:
        request = _build_request(parse_mapping(entry["request"]), args)
    except UnsendableRequest as error:
        return f"its request cannot be built ({str(error).rstrip('.')})"
    return documented.find_problem(request)


def _find_dead_arguments(schema: dict[str, Any]) -> list[str]:
    """Return a remark for each optional argument for which there is no value."""
    required, remarks = schema.get("required", ()), []
    properties = schema.get("properties", {})
    for name in list(properties)[:MAX_ARGUMENTS]:
        if name in required:
            continue
        try:
            samples.build_sample(properties[name], root=schema)
        except NoSample as error:
            if error.is_certain:
                remarks.append(f"Its argument {name[:60]} can never be sent: it {error}.")
    return remarks
