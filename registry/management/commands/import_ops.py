import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, transaction
from django.utils import timezone

from registry import history, releases
from registry.imports import documents, importing, reports
from registry.imports.prose import shown

LEFT_OUT = 3  # exit code if some functions were left out and the rest imported


class Command(BaseCommand):
    help = "Import a list of functions in a provider's format into the draft. Never overwrites an edit."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="JSON: a list of functions, or an object with `tools`")
        parser.add_argument("--format", choices=list(documents.Format), required=True, help="the file's format")
        parser.add_argument("--group", required=True, help="the group for the ops, such as crm")
        parser.add_argument("--map", type=Path, help="write {op path: upstream name} to this JSON file")
        parser.add_argument("--publish", action="store_true", help="publish the whole draft after the import")

    def handle(self, *args: Any, **options: Any) -> None:
        everything = options["verbosity"] > 1
        done = self._import(options["file"], documents.Format(options["format"]), options["group"], everything)
        if options["map"]:
            self._write_map(options["map"], done.names)
        if options["publish"]:
            self._publish(options["file"], options["group"])
        if done.refusals:
            count = len(done.refusals)
            raise CommandError(
                f"{count} of {count + len(done.names)} functions were left out, the rest imported.", returncode=LEFT_OUT
            )

    def _import(self, file: Path, form: documents.Format, group: str, everything: bool) -> importing.Imported:
        try:
            document = documents.read(file.read_bytes(), form)
            with transaction.atomic():
                done = importing.run(document, group=group)
                note = f"Import of {shown(file.name)} into {group}"
                history.record(done.merged.changes, by="import_ops", at=timezone.now(), note=note)
        except OSError as error:
            raise CommandError(f"Cannot read {shown(str(file))}: {error.strerror}.") from None
        except (documents.BadDocument, importing.BadGroup) as error:
            raise CommandError(f"{shown(str(error))} Nothing was imported.") from None
        except IntegrityError:
            message = "The draft was changed at the same time. Nothing was imported. Try again."
            raise CommandError(message) from None
        self.stdout.write(reports.told(done, document, everything=everything))
        return done

    def _write_map(self, file: Path, names: dict[str, str]) -> None:
        try:
            file.write_text(json.dumps(names, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
        except OSError as error:
            raise CommandError(f"Imported, but the map could not be written: {error.strerror}.") from None

    def _publish(self, file: Path, group: str) -> None:
        try:
            note = f"Import of {shown(file.name)} into {group}"
            # Imported copy has many warnings. The import report already lists what to review.
            release = releases.publish(note=note, by="import_ops", at=timezone.now(), accepted=note)
        except releases.AlreadyLive:
            self.stdout.write("The live release is up to date.")
        except releases.NotPublishable as error:
            problems = "\n".join(shown(str(problem)) for problem in error.problems)
            raise CommandError(f"Imported, but the draft cannot be published.\n{problems}") from None
        else:
            self.stdout.write(f"Release {release.version[:12]} with {release.op_count} ops is live.")
