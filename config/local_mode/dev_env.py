"""The file var/dev.env, in which make run writes the local keys and addresses."""

from pathlib import Path

from django.conf import settings

SHOP_TOKEN_VARIABLE = "UPSTREAM_SHOP_TOKEN"  # noqa: S105 - its name; the gateway and the example shop read it


def get_path() -> Path:
    """Return where the file is."""
    return Path(settings.VAR_DIR / "dev.env")


def read() -> dict[str, str]:
    """Return its values, none if there is no file."""
    path = get_path()
    if not path.exists():
        return {}
    lines = (line.partition("=") for line in path.read_text().splitlines())
    return {name: value for name, equals, value in lines if equals}
