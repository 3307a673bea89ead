"""The WSGI environment of an RSGI request (PEP 3333)."""

import sys
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from granian.rsgi import Scope

Environ = dict[str, Any]

# A key of the environment: the names (as in the environment) of headers that the request has more than once.
REPEATED_HEADERS = "server.repeated_headers"
# A key of the environment: why the body is missing, if the server did not read it (a BodyProblem).
BODY_PROBLEM = "server.body_problem"


class BodyProblem(StrEnum):
    """Why the server did not read a body."""

    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"


_PLAIN_NAMES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


# The process's variables, which CGI includes, are not in it: HTTP_PROXY would pass for a header.
_COMMON: Environ = {
    "SCRIPT_NAME": "",
    "SERVER_NAME": "no-host-header.invalid",  # Django would take an address for the Host header if that is missing
    "SERVER_SOFTWARE": "granian",
    "wsgi.errors": sys.stderr,
    "wsgi.multiprocess": True,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}


def build_environ(scope: "Scope") -> Environ:
    """Return the environment of a request, without its body.

    Values of a header that stands several times are joined, as HTTP defines, and the header is listed under
    REPEATED_HEADERS. A value beyond ASCII is empty. Headers with an underscore are left out: they would pass for those
    with a hyphen.
    """
    environ: Environ = _COMMON | {
        "REQUEST_METHOD": scope.method,
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "SERVER_PORT": scope.server.rpartition(":")[2],
        "SERVER_PROTOCOL": "HTTP/" + scope.http_version,
        "wsgi.url_scheme": scope.scheme,
    }
    for header, value in scope.headers.items():
        name = _convert_name(header)
        if name is None:
            continue
        if name in environ:
            value = environ[name] + ("; " if name == "HTTP_COOKIE" else ",") + value
            environ[REPEATED_HEADERS] = (*environ.get(REPEATED_HEADERS, ()), name)
        environ[name] = value
    for header in scope.headers.keys():  # noqa: SIM118 - not a dictionary: values beyond ASCII are not in items()
        if (name := _convert_name(header)) is not None:
            environ.setdefault(name, "")
    if scope.authority and "HTTP_HOST" not in environ:
        environ["HTTP_HOST"] = scope.authority
    return environ


@lru_cache(maxsize=500)
def _convert_name(header: str) -> str | None:
    """Return a header's name in the environment, or None if it is left out."""
    if "_" in header:
        return None
    return _PLAIN_NAMES.get(header) or "HTTP_" + header.upper().replace("-", "_")
