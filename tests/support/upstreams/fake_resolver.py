"""A resolver that a test controls, instead of `socket.getaddrinfo`."""

import socket
from typing import Any


class FakeResolver:
    """Resolves `names`: one answer per query, and the last answer for all later queries.

    Addresses in any spelling are resolved by the system. No name server is queried.
    """

    def __init__(self) -> None:
        self.names: dict[str, list[list[str]]] = {"localhost": [["127.0.0.1", "::1"]]}
        self.queries: list[str] = []
        self._real = socket.getaddrinfo

    def __call__(self, host: bytes | str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        self.queries.append(name)
        if name.rstrip(".") not in self.names:  # an address in some spelling, or unknown
            return self._real(host, port, *args, **kwargs | {"flags": socket.AI_NUMERICHOST})
        answers = self.names[name.rstrip(".")]
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [entry for address in addresses for entry in self._real(address, port, *args, **kwargs)]
