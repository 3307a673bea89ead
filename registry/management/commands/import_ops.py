import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, transaction
from django.utils import timezone

from registry.drafts import history
from registry.imports import import_report, openai, run_import
from registry.releases import publishing
from registry.text.cleanup import escape_for_terminal

EXIT_INCOMPLETE = 3  # exit code if some functions were left out and the rest imported
EXIT_NOT_PUBLISHED = 4  # exit code if the functions were imported and the draft cannot be published


class Command(BaseCommand):
    help = "Import a list of functions in a provider's format into the draft. Never overwrites an edit."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="JSON: a list of functions, or an object with `tools`")
        parser.add_argument("--format", choices=list(openai.ProviderFormat), required=True, help="the file's format")
        parser.add_argument("--group", required=True, help="the group for the ops, such as crm")
        parser.add_argument("--map", type=Path, help="write {op path: upstream name} to this JSON file")
        parser.add_argument("--publish", action="store_true", help="publish the whole draft after the import")

    def handle(self, *args: Any, **options: Any) -> None:
        show_all = options["verbosity"] > 1
        result = self._import(options["file"], openai.ProviderFormat(options["format"]), options["group"], show_all)
        if options["map"]:
            self._write_map(options["map"], result.upstream_names)
        if options["publish"]:
            self._publish(options["file"], options["group"], show_all)
        if result.refusals:
            count = len(result.refusals)
            raise CommandError(
                f"{count} of {count + len(result.upstream_names)} functions were left out, the rest imported.",
                returncode=EXIT_INCOMPLETE,
            )

    def _import(
        self, file: Path, provider_format: openai.ProviderFormat, group: str, show_all: bool
    ) -> run_import.ImportResult:
        try:
            document = openai.parse_functions(file.read_bytes(), provider_format)
            with transaction.atomic():
                result = run_import.import_functions(document, group=group)
                note = f"Import of {escape_for_terminal(file.name)} into {group}"
                history.record_changes(result.merged.changes, by="import_ops", at=timezone.now(), note=note)
        except OSError as error:
            raise CommandError(f"Cannot read {escape_for_terminal(str(file))}: {error.strerror}.") from None
        except (openai.InvalidFunctionList, run_import.InvalidImportGroup) as error:
            raise CommandError(f"{escape_for_terminal(str(error))} Nothing was imported.") from None
        except IntegrityError:
            message = "The draft was changed at the same time. Nothing was imported. Try again."
            raise CommandError(message) from None
        self.stdout.write(import_report.format_report(result, document, show_all=show_all))
        return result

    def _write_map(self, file: Path, names: dict[str, str]) -> None:
        try:
            file.write_text(json.dumps(names, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
        except OSError as error:
            raise CommandError(f"Imported, but the map could not be written: {error.strerror}.") from None

    def _publish(self, file: Path, group: str, show_all: bool) -> None:
        try:
            note = f"Import of {escape_for_terminal(file.name)} into {group}"
            # Imported copy has many warnings. The import report already lists what to review.
            release = publishing.publish_draft(note=note, by="import_ops", at=timezone.now(), accepted=note)
        except publishing.AlreadyLive:
            self.stdout.write("The live release is up to date.")
        except publishing.NotPublishable as error:
            problems = [escape_for_terminal(str(problem)) for problem in error.problems]
            raise CommandError(
                "\n".join(
                    ["Imported, but the draft cannot be published.", *import_report.limit_names(problems, show_all)]
                ),
                returncode=EXIT_NOT_PUBLISHED,
            ) from None
        else:
            self.stdout.write(f"Release {release.version[:12]} with {release.op_count} ops is live.")
