"""Where a service is. Addresses have the host that the document names, whatever else is put together with it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from registry.imports.openapi import swagger

_SAFE = "/:@!$&'()*+,;=~%"
_FORBIDDEN = '\\<>"^`{|}'  # in an address; some readers take a backslash for a slash
_MAX_VARIABLE = 200


def find_base_url(document: Mapping[str, Any], url: str) -> str:
    """Return the address of the first server, with the defaults of its variables.

    "" if the document has none that can be used: then an admin enters it.
    """
    servers = swagger.convert_servers(document) if "swagger" in document else document.get("servers")
    first = next((each for each in servers if isinstance(each, dict)), {}) if isinstance(servers, list) else {}
    address = _fill_variables(str(first.get("url") or "/").strip(), first.get("variables"))
    if not address or any(letter in '\\<>"^`{|}' or letter.isspace() or not letter.isprintable() for letter in address):
        return ""
    try:
        whole = urljoin(url, address) if url.startswith(("http://", "https://")) else address
    except ValueError:
        return ""
    return clean_address(f"https:{whole}" if whole.startswith("//") else whole)


def clean_address(address: str) -> str:
    """Return an http(s) address without a user, a fragment and a slash at its end; "" if it is not one."""
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return ""
    if not is_usable or "@" in parts.netloc or "\\" in address:
        return ""
    return urlunsplit((parts.scheme, parts.netloc, quote(parts.path.rstrip("/"), safe=_SAFE), parts.query, ""))


def is_usable(url: str) -> bool:
    """Return whether a URL can be called."""
    return "{" not in url and bool(clean_address(url))


def _fill_variables(address: str, variables: Any) -> str:
    """Return an address with the defaults of its variables; "" if one of them would replace the host."""
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        placeholder = f"{{{name}}}"
        if not isinstance(variable, dict) or placeholder not in address:
            continue
        value = str(variable.get("default") or "")[:_MAX_VARIABLE]
        if not value and isinstance(choices := variable.get("enum"), list) and choices:
            value = str(choices[0])[:_MAX_VARIABLE]
        before, _, after = address.partition(placeholder)
        if "://" in before and "/" not in before.partition("://")[2]:
            is_last = after[:1] in ("", "/", "?", "{")
            if any(letter in "@\\" for letter in value) or (not is_last and any(letter in "/?#" for letter in value)):
                return ""
            if is_last and before[-1:].isalnum() and value[:1].isalnum():
                value = f"/{value}"  # else https://api.example{base} with v2 would be another host
        address = address.replace(placeholder, value)
    return address
