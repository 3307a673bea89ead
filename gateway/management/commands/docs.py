import ast
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import models

from analytics.models import OperationEvent
from gateway import context_cost, errors, roles
from gateway.roles import Role
from registry import loader
from registry.checks import reference
from workspace import diagrams

MADE = "<!-- Made by manage.py docs from {source}. -->"
# What makes an error without being one: the reason and the sentence are its last two arguments.
DECIDED = {"Decision": ("PERMISSION_DENIED", "403"), "NotStrictJSON": ("VALIDATION_ERROR", "400")}


class Command(BaseCommand):
    help = "Write the reference pages that are made from the code, and the parts of others that are."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing; fail where a page is out of date")

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        pages = _pages(root)
        stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
        names = ", ".join(str(path.relative_to(root)) for path in stale)
        if options["check"] and stale:
            raise CommandError(f"Out of date: {names}. Run manage.py docs.")
        for path in stale:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages[path])
        self.stdout.write(f"Wrote {names}." if stale else "All pages are up to date.")


def _pages(root: Path) -> dict[Path, str]:
    readme, workspace = root / "README.md", root / "docs/workspace.md"
    return {
        readme: _filled(readme.read_text(), settings=_settings(root)),
        workspace: _filled(workspace.read_text(), entities=diagrams.entities(), edges=diagrams.edges()),
        root / "docs/context-cost.md": context_cost.page(
            loader.read(), MADE.format(source="gateway/context_cost.py and the shipped catalog")
        ),
        root / "docs/reference/errors.md": _errors(root),
        root / "docs/reference/events.md": _events(),
        root / "docs/reference/roles.md": _roles(),
        root / "docs/reference/checks.md": reference.page(MADE.format(source="registry/checks/")),
    }


def _filled(page: str, **made: str) -> str:
    """Return a page with what stands between <!-- name --> and <!-- /name --> made anew, for each name."""
    for name, text in made.items():
        before, _, rest = page.partition(f"<!-- {name} -->")
        _, _, after = rest.partition(f"<!-- /{name} -->")
        page = f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}"
    return page


def _settings(root: Path) -> str:
    rows = ["| variable | default | what it sets |", "|---|---|---|"]
    said: list[str] = []
    for line in (root / ".env.example").read_text().splitlines():
        if line.startswith("#"):
            said.append(line.removeprefix("#").strip())
        elif "=" in line:
            name, _, default = line.partition("=")
            rows.append(f"| `{name}` | {f'`{default}`' if default else ''} | {' '.join(said)} |")
            said = []
        else:
            said = []
    return "\n".join(rows)


def _errors(root: Path) -> str:
    paths = [root / "core/strictjson.py", *sorted((root / "gateway").rglob("*.py"))]
    rows = sorted({row for path in paths for row in _reasons(path)})
    table = "\n".join(f"| `{reason}` | {code} | {status} | {message} |" for reason, code, status, message in rows)
    return (
        f"# Errors\n\n{MADE.format(source='gateway/')}\n\n"
        "Every error of the API is an envelope with one of five codes. `details.reason` names the case; the sentences\n"
        "are what the caller reads, with … where they name something of the call. An upstream may add reasons of its\n"
        "own.\n\n| reason | code | status | message |\n|---|---|---|---|\n" + table + "\n"
    )


def _reasons(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield (reason, code, status, message) of each error that a module makes."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in DECIDED and len(node.args) >= 2:
            code, status = DECIDED[node.func.id]
            for reason in _texts(node.args[-2]):
                yield reason, code, status, " ".join(_texts(node.args[-1])) or "…"
            continue
        kind = getattr(errors, node.func.id, None)
        if not (isinstance(kind, type) and issubclass(kind, errors.GatewayError)) or not node.args:
            continue
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        other = named.get("status")
        status = str(other.value if isinstance(other, ast.Constant) else kind.status)
        for reason in _texts(named.get("reason")) or [kind.reason]:
            yield reason, kind.code, status, " ".join(_texts(node.args[0])) or "…"


def _texts(node: ast.expr | None) -> list[str]:
    """Return the texts that an expression can be, an f-string's values written as …."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value.replace("|", "\\|")]
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body), *_texts(node.orelse)]
    return []


def _events() -> str:
    fields = [field for field in OperationEvent._meta.concrete_fields if not field.primary_key]
    rows = [f"| `{field.name}` | {_type(field)} | {field.help_text} |" for field in fields]
    return (
        f"# Operation events\n\n{MADE.format(source='analytics/models.py')}\n\n"
        "One row for each help, search and exec with a valid key, as it was answered. Args and results are not\n"
        "kept.\n\n"
        "| field | type | |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _roles() -> str:
    rows = [
        f"| {area} | {', '.join(_plural(model) for model in models)} | "
        + " | ".join(_granted(roles.GRANTS[role].get(area, ())) for role in Role)
        + " |"
        for area, models in roles.AREAS.items()
    ]
    table = f"| | | {' | '.join(Role)} |\n|---|---|{'---|' * len(Role)}\n" + "\n".join(rows)
    return (
        f"# Roles\n\n{MADE.format(source='gateway/roles.py')}\n\n"
        "Who may do what in the admin. A role is a group of Django's: in the admin, under Users, tick *Staff status*\n"
        "and choose it under *Groups*; several add up. `manage.py createsuperuser` makes the first admin, who may do\n"
        f"everything.\n\n{table}\n\n"
        "What services own (releases, events, figures, history, calls) nobody changes by hand. To publish, to make a\n"
        "release live and to withdraw one takes *all* of releases; to switch something off, *all* of switches. An\n"
        "editor edits the draft, restores releases into it and takes changes back. No page shows a key, a password or\n"
        "what calls carried.\n\n"
        "Each `migrate` gives these groups exactly what stands here. To let somebody do more, make a group of your\n"
        "own and give them both: other groups, and what single users may, are never touched.\n"
    )


def _plural(model: str) -> str:
    return str(apps.get_model(model)._meta.verbose_name_plural)


def _granted(verbs: tuple[str, ...]) -> str:
    return {roles.ALL: "all", roles.VIEW: "look"}.get(verbs, ", ".join(verbs))


def _type(field: models.Field[Any, Any]) -> str:
    if field.choices:
        return ", ".join(str(value) for value, _ in field.flatchoices)
    names = {"CharField": "text", "DateTimeField": "time", "BooleanField": "true or false", "JSONField": "JSON"}
    return names.get(field.get_internal_type(), "number")
