"""What connections take from end users, in memory, so that a call needs no query."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from threading import Lock

from core.background.poller import PolledQuery
from gateway.models import EndUserSettings
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

# The kinds of authentication for which an end user can bring a key.
OWN_KEY_AUTHS = (Connection.Auth.BEARER, Connection.Auth.BASIC, Connection.Auth.API_KEY)


@dataclass(frozen=True, slots=True)
class EndUserRules:
    """The settings of one connection. `max_file_bytes` is 0 and `file_types` is empty if there is no limit."""

    has_user_keys: bool = False
    max_file_bytes: int = 0
    file_types: tuple[str, ...] = ()

    def explain_file_refusal(self, content_type: str, size: int) -> str:
        """Return why a file cannot be sent to the service, as a sentence; empty if it can."""
        base = content_type.partition(";")[0].strip().lower()
        if self.max_file_bytes and size > self.max_file_bytes:
            limit = f"{self.max_file_bytes // 1000:,}"
            return f"The service takes files of at most {limit} KB. This one has {size:,} bytes."
        if self.file_types and not any(fnmatchcase(base, pattern) for pattern in self.file_types):
            return f"The service takes only files of these types: {', '.join(self.file_types)}. This one is {base}."
        return ""


_DEFAULT = EndUserRules()
_refreshing = Lock()
_rules: Mapping[str, EndUserRules] | None = None
_query = PolledQuery(
    lambda: EndUserSettings.objects.order_by("pk").values_list(
        "connection__name", "has_user_keys", "max_file_kb", "file_types"
    )
)


def get_rules(connection: str) -> EndUserRules:
    """Return the rules of a connection from memory, at most half a second old. Reads the database on first use."""
    return (_rules if _rules is not None else refresh_settings()).get(connection, _DEFAULT)


def uses_own_keys(connection: Connection | ConnectionConfig) -> bool:
    """Return whether each end user brings a key for this connection."""
    return connection.auth in OWN_KEY_AUTHS and get_rules(connection.name).has_user_keys


def refresh_settings() -> Mapping[str, EndUserRules]:
    """Reload the settings of all connections. Takes one query."""
    global _rules
    with _refreshing:
        _rules = {
            name: EndUserRules(bool(has_user_keys), int(max_file_kb) * 1000, tuple(file_types.split()))
            for name, has_user_keys, max_file_kb, file_types in _query.fetch_rows()
        }
        return _rules


def clear_settings() -> None:
    """Clear the settings from memory, as in a new process."""
    global _rules
    _rules = None
