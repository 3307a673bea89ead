"""The declared flags, with their variants and defaults."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings


class FlagKey(StrEnum):
    """Flag keys, as OpenFeature clients send them."""

    SURFACE = "AGENTIC_CHAT_TOOL_GATEWAY"
    RELEASE = "tool_release"
    SELECTION = "tool_selection"


class Surface(StrEnum):
    """What the model is shown."""

    GATEWAY = "gateway"  # the three gateway tools
    HYBRID = "hybrid"  # these, and a few pinned ops as typed tools
    NATIVE = "native"  # typed tools behind the provider's own tool search, which asks ours
    DISCOVERY = "discovery"  # a discovery tool for each domain, and tool_exec
    LEGACY = "legacy"  # the tools of the context


LIVE = "live"  # not pinned: follow the live release
STATIC = "static"  # every tool of the context
DYNAMIC = "dynamic"  # those that the message needs


@dataclass(frozen=True, slots=True)
class FlagDeclaration:
    """A declared flag: what decides its default, its variants, and a test for valid variants."""

    key: FlagKey
    title: str
    get_default: Callable[[], str]
    variants: tuple[str, ...]  # the named ones; the release flag also accepts any version
    accepts: Callable[[str], bool]

    @property
    def default(self) -> str:
        """Return the variant of users in no cohort."""
        return self.get_default()


def _get_default_selection() -> str:
    """Return `dynamic` where a fast model selects the tools. Without one, `static`: see ADR 49."""
    return DYNAMIC if settings.LLM_BASE_URL and settings.LLM_FAST_MODEL else STATIC


def _is_version(text: str) -> bool:
    return len(text) == 64 and not set(text) - set("0123456789abcdef")


FLAGS: dict[FlagKey, FlagDeclaration] = {
    each.key: each
    for each in (
        FlagDeclaration(
            FlagKey.SURFACE, "Surface", lambda: Surface.LEGACY, tuple(Surface), lambda text: text in set(Surface)
        ),
        FlagDeclaration(
            FlagKey.RELEASE, "Release", lambda: LIVE, (LIVE,), lambda text: text == LIVE or _is_version(text)
        ),
        FlagDeclaration(
            FlagKey.SELECTION,
            "Tool selection",
            _get_default_selection,
            (STATIC, DYNAMIC),
            lambda text: text in (STATIC, DYNAMIC),
        ),
    )
}
