"""What the users of an arm have, in words."""

from collections.abc import Callable, Iterable, Mapping

from analytics.flags import FLAGS, LIVE, FlagKey


def set_release_namer(name_releases: Callable[[Iterable[str]], Mapping[str, str]]) -> None:
    """Set the function that returns the short name of each version. Releases are above this app."""
    global _name_releases
    _name_releases = name_releases


def name_variant(flag: str, variant: str) -> str:
    """Return a variant with its flag: "release r12 Clearer summaries", "surface hybrid", "the live release"."""
    if flag != FlagKey.RELEASE:
        return f"{FLAGS[FlagKey(flag)].title.lower()} {variant}"
    return "the live release" if variant == LIVE else f"release {_name_releases([variant])[variant]}"


_name_releases: Callable[[Iterable[str]], Mapping[str, str]]
