"""Resolve the references of an OpenAPI document, also into its other files."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from registry.imports.openapi.reading import DocumentTooLarge, InvalidDocument, ValueBudget

_INDEX = re.compile(r"[0-9]{1,9}", re.ASCII)
MAX_HOPS = 30  # references that refer to references

Loader = Callable[[str], bytes]  # the content of the file at an address; may raise any error with a message


class DanglingReference(Exception):
    """A reference has no target. The message says which."""


class OtherHost(Exception):
    """A reference leads to a host that may not be asked. The message names it. What needs the file is refused.

    A loader raises it. Nothing takes the place of such a file: what it says is known, once somebody allows the host.
    """


class Located(NamedTuple):
    """A value of the document, and the address of the file that it is in."""

    value: Any
    url: str


class References:
    """The files of a document. Others are loaded when something refers to them."""

    def __init__(self, document: Any, url: str, load: Loader | None, budget: ValueBudget) -> None:
        self._files: dict[str, Any] = {urldefrag(url).url: document}
        self._budget = budget
        self._failures: dict[str, str] = {}
        self._load = load

    def locate(self, ref: str, url: str) -> str:
        """Return the whole address of a reference in a file. Each costs a value of the budget: many can lead to one."""
        self._budget.take()
        try:
            return ref if url == "" else urljoin(url, ref)
        except ValueError:  # such as a bracket in the host
            raise DanglingReference(f"Its reference {ref[:100]} is no address.") from None

    def resolve(self, ref: str, url: str) -> Located:
        """Return the target of a reference. Raises DanglingReference or OtherHost."""
        try:
            address, pointer = urldefrag(self.locate(ref, url))
        except ValueError:
            raise DanglingReference(f"Its reference {ref[:100]} is no address.") from None
        value = self._get_file(address)
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
                value = value[int(key)]
            else:
                raise DanglingReference(f"Its reference {ref[:100]} has no target.")
        return Located(value, address)

    def follow(self, value: Any, url: str) -> Located:
        """Return the value itself, or what it refers to, also through several references."""
        located = Located(value, url)
        for _ in range(MAX_HOPS):
            ref = located.value.get("$ref") if isinstance(located.value, dict) else None
            if not isinstance(ref, str):
                return located
            located = self.resolve(ref, located.url)
        raise DanglingReference(f"Its reference {str(value.get('$ref'))[:100]} leads back to itself.")

    def _get_file(self, address: str) -> Any:
        if address not in self._files:
            if address in self._failures:
                raise DanglingReference(self._failures[address])
            try:
                if self._load is None:
                    raise InvalidDocument("which was not sent with the document.")
                self._files[address] = self._budget.read_file(self._load(address))
            except (OtherHost, DocumentTooLarge):
                raise
            except Exception as error:  # the loader's errors are its own; each has a message
                self._failures[address] = f"It refers to another file, {address[:100]}: {error}"
                raise DanglingReference(self._failures[address]) from None
        return self._files[address]
