import getpass
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils import timezone

from analytics.experiments import guarded_steps
from analytics.experiments.guarded_steps import GuardedPlan
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.flags import FlagKey
from analytics.rollout.models import Cohort
from audit import audit_log
from audit.models import AuditEntry
from core.text import notes
from registry.drafts import draft
from registry.files import export, yaml_format
from registry.management import selected_changes
from registry.models import Release
from registry.releases import lifecycle, publishing, restore, review, selection, stored_releases, unpublished
from registry.releases.stored_releases import EntryKey
from registry.reviews import approval as reviewed_publishing
from registry.reviews import cohort_release, guarded_release
from registry.reviews.approval import ApprovalMissing
from registry.reviews.cohort_release import CohortPlan, CohortRefused
from registry.reviews.holds import EntriesHeld
from registry.snapshot import diff, snapshot
from registry.snapshot.entries import Snapshot
from registry.text.cleanup import escape_for_terminal


class Command(BaseCommand):
    help = "Export, diff and import the draft as files, publish or release it step by step or to a cohort, roll back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="part", required=True, metavar="export|diff|import|publish|release|rollback")

        part = parts.add_parser("export", help="write the draft or a release as YAML files")
        part.add_argument("target", type=Path, help="a folder; with --csv a file, or - for stdout")
        part.add_argument("--release", metavar="VERSION", help="export this release instead of the draft")
        part.add_argument("--csv", action="store_true", help="write the ops as CSV for a spreadsheet")

        part = parts.add_parser("diff", help="show what importing a folder would change")
        part.add_argument("folder", type=Path)

        part = parts.add_parser("import", help="import a folder into the draft; entries missing from it stay")
        part.add_argument("folder", type=Path)
        part.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        _add_actor_option(part)

        part = parts.add_parser("publish", help="publish the draft as a release and make it live")
        _add_publish_options(part)

        part = parts.add_parser(
            "release", help="release the draft to a cohort or step by step, or a cohort's release to everyone"
        )
        readers = part.add_mutually_exclusive_group(required=True)
        readers.add_argument("--cohort", metavar="NAME", help="a new one, or a cohort of releases")
        readers.add_argument(
            "--steps",
            nargs="?",
            const="",
            metavar="STEPS",
            help="percent and hours of each step, such as 1:4,5:4,25:8,50:8 (default: those used last)",
        )
        part.add_argument("--name", default="", help="with --steps: of the experiment")
        part.add_argument(
            "--guardrail",
            action="append",
            default=[],
            choices=guarded_steps.WATCHED,
            dest="guardrails",
            help="with --steps: a metric that takes the release back (default: those used last)",
        )
        part.add_argument(
            "--percentage", type=Decimal, default=Decimal(5), help="share of users (default: %(default)s)"
        )
        part.add_argument("--user", action="append", default=[], dest="users", help="a subject who is always in")
        part.add_argument("--no-stop", action="store_true", help="keep it on even if its calls fail more often")
        part.add_argument("--everyone", action="store_true", help="make the cohort's release live and turn it off")
        _add_publish_options(part)

        part = parts.add_parser("rollback", help="make another release live")
        part.add_argument("version", nargs="?", default="", help="or its beginning; default: the previous live release")
        part.add_argument("--note", default="Rolled back", type=_parse_note)
        _add_actor_option(part)

    def handle(self, *args: Any, **options: Any) -> None:
        {
            "export": self._export,
            "diff": self._diff,
            "import": self._import,
            "publish": self._publish,
            "release": self._release,
            "rollback": self._rollback,
        }[options["part"]](options)

    def _export(self, options: dict[str, Any]) -> None:
        target: Path = options["target"]
        content, tokens = self._load_content(options["release"])
        try:
            if not options["csv"]:
                written_files = export.write_to_folder(content, target)
                self.stdout.write(f"Wrote {len(content['ops'])} ops to {len(written_files)} files in {target}.")
            elif str(target) == "-":
                self.stdout.write(export.to_csv(content, tokens), ending="")
            else:
                target.write_text(export.to_csv(content, tokens), encoding="utf-8", newline="")
                self.stdout.write(f"Wrote {len(content['ops'])} ops to {target}.")
        except (OSError, export.FolderNotEmpty) as error:
            raise CommandError(str(error)) from None

    def _load_content(self, version: str | None) -> tuple[Snapshot, dict[str, list[int]]]:
        if version is None:
            content = snapshot.snapshot_draft()
            return content, publishing.count_tokens(content)
        try:
            release = stored_releases.find_release(version)
        except stored_releases.UnknownRelease as error:
            raise CommandError(str(error)) from None
        return stored_releases.load_content(release), release.tokens

    def _diff(self, options: dict[str, Any]) -> None:
        self._show_changes(options["folder"])

    def _show_changes(self, folder: Path) -> tuple[Snapshot, list[diff.CopyChange], str]:
        """Print what a folder would change. Return its content, the changes, and the draft's version."""
        if not folder.is_dir() or not any(folder.glob("*.yaml")):
            raise CommandError(f"{folder} has no YAML files. Name a folder written by `catalog export`.")
        try:
            content = yaml_format.read_folder(folder, alone=False)
        except yaml_format.InvalidCatalogFiles as error:
            raise CommandError("\n".join(str(problem) for problem in error.problems)) from None
        seen_version, content_changes = publishing.compute_draft_version(), draft.preview_write(content)
        self.stdout.write(
            export.format_changes(content_changes) if content_changes else "The draft already has this content."
        )
        return content, content_changes, seen_version

    def _import(self, options: dict[str, Any]) -> None:
        content, content_changes, seen_version = self._show_changes(options["folder"])
        if not content_changes or not self._confirm_import(yes=options["yes"]):
            return
        note, at = f"Import of {options['folder'].name}", timezone.now()
        try:
            draft.write_snapshot(
                content,
                by=options["by"],
                at=at,
                note=note,
                seen=seen_version,
            )
        except draft.DraftRefused as error:
            problems = "\n".join(str(problem) for problem in error.problems)
            raise CommandError(f"Nothing was imported.\n{problems}") from None
        except (draft.DraftChanged, draft.NothingToChange) as error:
            raise CommandError(f"Nothing was imported. {error}") from None
        audit_log.record_action("copy", "files", AuditEntry.Action.IMPORTED, by=options["by"], at=at, note=note)
        self.stdout.write("Imported into the draft. To publish: manage.py catalog publish --note …")

    def _confirm_import(self, *, yes: bool) -> bool:
        if yes:
            return True
        if not sys.stdin.isatty():
            raise CommandError("Nothing was imported: there is no terminal to confirm on. Add --yes.")
        if input("Import this into the draft? [y/N] ").strip().lower() in ("y", "yes"):
            return True
        self.stdout.write("Nothing was imported.")
        return False

    def _publish(self, options: dict[str, Any]) -> None:
        try:
            with _explain_refusals(options["only"]):
                release = reviewed_publishing.publish_reviewed(**_get_publish_arguments(options))
        except lifecycle.AlreadyLive:
            self.stdout.write("Nothing to publish: the draft matches the live release.")
        else:
            self.stdout.write(f"Release {release} with {release.op_count} ops is live.{_describe_left(release)}")

    def _release(self, options: dict[str, Any]) -> None:
        name = options["cohort"]
        if name is None:
            self._release_step_by_step(options)
            return
        if options["everyone"]:
            if options["only"]:
                raise CommandError("--only selects changes of the draft. Leave it out with --everyone.")
            self._make_live(name, note=options["note"], by=options["by"])
            return
        plan = CohortPlan(name, options["percentage"], options["users"], not options["no_stop"])
        with _explain_refusals(options["only"]):
            release, cohort = cohort_release.release_draft_to_cohort(plan, **_get_publish_arguments(options))
        self.stdout.write(
            f"Release {release} is on the cohort {cohort.name}: {cohort.percentage:f}% and {len(cohort.listed)} users. "
            f"To make it live for everyone: manage.py catalog release --cohort {cohort.name} --everyone --note …"
        )

    def _release_step_by_step(self, options: dict[str, Any]) -> None:
        used_last = guarded_steps.load_template(FlagKey.RELEASE)
        with _explain_refusals(options["only"]):
            plan = GuardedPlan(
                options["name"] or guarded_release.suggest_name(),
                guarded_steps.parse_steps(options["steps"]) if options["steps"] else used_last.steps,
                options["guardrails"] or used_last.guardrails,
            )
            arguments = _get_publish_arguments(options)
            release, experiment = guarded_release.release_draft_step_by_step(plan, **arguments)
        page = reverse("admin:analytics_experiment_change", args=[experiment.pk])
        self.stdout.write(
            f"Release {release} is released step by step by the experiment {experiment.name}: "
            f"{guarded_steps.format_steps(experiment.steps)}. To follow it: {settings.GATEWAY_URL}{page}"
        )

    def _make_live(self, name: str, *, note: str, by: str) -> None:
        cohort = Cohort.objects.filter(name=name, flag=FlagKey.RELEASE).first()
        release = Release.objects.filter(version=cohort.variant).first() if cohort else None
        if release is None:
            raise CommandError(f"There is no cohort {escape_for_terminal(name)} that is on a release.")
        try:
            with _explain_refusals():
                ended = cohort_release.make_live(release, ends_cohorts=True, note=note, by=by, at=timezone.now())
        except lifecycle.AlreadyLive:
            raise CommandError(f"Release {release} is already live.") from None
        names = f" Turned off: {', '.join(each.name for each in ended)}." if ended else ""
        self.stdout.write(f"Release {release} with {release.op_count} ops is live for everyone.{names}")

    def _rollback(self, options: dict[str, Any]) -> None:
        try:
            release = (
                stored_releases.find_release(options["version"])
                if options["version"]
                else stored_releases.get_previous_release()
            )
            taken_back = stored_releases.get_live_release()
            lifecycle.activate_release(
                version=release.version, note=options["note"], by=options["by"], at=timezone.now()
            )
        except lifecycle.AlreadyLive:
            raise CommandError(f"Release {release} is already live.") from None
        except (stored_releases.UnknownRelease, lifecycle.AlreadyWithdrawn) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Release {release} with {release.op_count} ops is live.")
        unpublished = restore.find_unpublished_changes(taken_back)
        if taken_back and unpublished and unpublished.from_release:
            count = len(unpublished.from_release)
            path = f"{reverse('admin:registry_release_discard_all')}?taken_back={taken_back.pk}"
            self.stdout.write(
                f"The draft still has {count} change{pluralize(count)} of {taken_back}: publishing it brings "
                f"{'it' if count == 1 else 'them'} back. Keep or discard: {settings.GATEWAY_URL}{path}"
            )


@contextmanager
def _explain_refusals(patterns: Sequence[str] = ()) -> Iterator[None]:
    """Turn the reasons why changes of the draft cannot be published into errors of the command."""
    try:
        yield
    except publishing.NotPublishable as error:
        lines = [str(problem) for problem in error.problems]
        if patterns:
            missing = review.review_draft(lambda changes: selection.match_changes(changes, patterns)).missing
            needed = dict.fromkeys(change.name for each in missing for change in each.needed)
            lines += [f"Select as well: {' '.join(needed)}"] if needed else []
        raise CommandError("\n".join(lines)) from None
    except publishing.LossReasonMissing as error:
        hint = "Give the reason with --loss-reason TEXT. manage.py run_evals lists all."
        raise CommandError(f"{escape_for_terminal(str(error))}\n{hint}") from None
    except (
        lifecycle.AlreadyWithdrawn,
        lifecycle.LiveChanged,
        ApprovalMissing,
        EntriesHeld,
        CohortRefused,
        ExperimentRefused,
    ) as error:
        raise CommandError(escape_for_terminal(str(error))) from None


def _describe_left(release: Release) -> str:
    count = sum(map(len, unpublished.find_unpublished_names().values()))
    if release.selected_entries is None or not count:
        return ""
    return f" {count} change{pluralize(count)} stay{pluralize(count, 's,')} in the draft."


def _get_publish_arguments(options: dict[str, Any]) -> dict[str, Any]:
    return {
        "only": _select_changes(options["only"]),
        "note": options["note"],
        "by": options["by"],
        "at": timezone.now(),
        "accepted": options["note"],
        "accepted_loss": options["loss_reason"] or "",
    }


def _select_changes(patterns: Sequence[str]) -> frozenset[EntryKey] | None:
    return selected_changes.select_changes(patterns).keys if patterns else None


def _add_publish_options(part: ArgumentParser) -> None:
    part.add_argument(
        "--note", required=True, type=_parse_note, help="what changed and why; also the reason for warnings"
    )
    selected_changes.add_only_option(
        part, "only these entries of the draft, such as onto.task.*; the others stay in the draft"
    )
    part.add_argument(
        "--loss-reason", type=_parse_loss_reason, metavar="TEXT", help="why it is right to lose eval cases"
    )
    _add_actor_option(part)


def _parse_note(text: str, asked: str = "what changed, and why") -> str:
    if problem := notes.find_note_problem(text, asked):
        raise ArgumentTypeError(problem)
    return text


def _parse_loss_reason(text: str) -> str:
    return _parse_note(text, "why it is right to lose these eval cases")


def _add_actor_option(part: ArgumentParser) -> None:
    part.add_argument("--by", default=_get_username(), help="your name for the history (default: %(default)s)")


def _get_username() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        return "catalog"
