"""The flags that there are, what each may say, and what it says where no cohort decides."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class FlagKey(StrEnum):
    """The key of each flag, as OpenFeature clients ask for it."""

    SURFACE = "AGENTIC_CHAT_TOOL_GATEWAY"
    RELEASE = "tool_release"
    SELECTION = "tool_selection"


class Surface(StrEnum):
    """What the model is handed: the three tools of the gateway, or every tool of the context."""

    GATEWAY = "gateway"
    LEGACY = "legacy"


LIVE = "live"  # the release that everyone follows who is not pinned to one
STATIC = "static"  # every tool of the context


@dataclass(frozen=True, slots=True)
class Declared:
    """One flag: its default, and whether a text is a variant of it."""

    key: FlagKey
    title: str
    default: str
    variants: tuple[str, ...]  # those that have a name; beside them a flag of releases takes any version
    takes: Callable[[str], bool]


def _is_version(text: str) -> bool:
    return len(text) == 64 and not set(text) - set("0123456789abcdef")


FLAGS: dict[FlagKey, Declared] = {
    each.key: each
    for each in (
        Declared(FlagKey.SURFACE, "Surface", Surface.LEGACY, tuple(Surface), lambda text: text in set(Surface)),
        Declared(FlagKey.RELEASE, "Release", LIVE, (LIVE,), lambda text: text == LIVE or _is_version(text)),
        Declared(FlagKey.SELECTION, "Tool selection", STATIC, (STATIC,), lambda text: text == STATIC),
    )
}
