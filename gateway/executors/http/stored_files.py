"""Files that calls send to upstreams and get from them."""

from typing import Any

from gateway.contracts.errors import InvalidRequestError
from gateway.executors.base import UpstreamCall

StoredFile = tuple[str, str, bytes]  # name, content type, content


def load_file(work: UpstreamCall, file_id: str) -> StoredFile:  # noqa: ARG001
    """Return a stored file of the caller. Raises InvalidRequestError if there is none with this id."""
    raise InvalidRequestError("There is no stored file with this id.", reason="unknown_file")


def store_file(work: UpstreamCall, name: str, content_type: str, content: bytes) -> dict[str, Any]:  # noqa: ARG001
    """Store a file for the caller and return its reference: id, name, content_type, size, url."""
    raise InvalidRequestError("The service answered with a file, and files cannot be stored.", reason="no_file_store")
