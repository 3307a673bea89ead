from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from audit import audit_log
from gateway.access import api_keys
from gateway.models import Client, Scope

BY = "create_api_key"
MAX_DAYS = 3_650


class Command(BaseCommand):
    help = "Create an API key for a client. A new client is also created. The key is printed once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("client", help="the service that will use the key, such as chat")
        parser.add_argument("--name", default="", help="where the key is used")
        parser.add_argument("--subject", default="", help="bind the key to one end user")
        parser.add_argument(
            "--scopes", nargs="+", choices=Scope.values, metavar="SCOPE", help="default: all except reports"
        )
        parser.add_argument("--rate", type=int, default=50, help="requests per second in each process; default: 50")
        parser.add_argument("--days", type=int, help="days until it expires; default: never")
        parser.add_argument("--subjects", help="for a new client: the subjects it may call for, such as acme-*")
        parser.add_argument("--ops", nargs="+", help="for a new client: the ops it may run, such as onto.*")

    @transaction.atomic  # a refused key leaves no client behind
    def handle(self, *args: Any, **options: Any) -> None:
        days = options["days"]
        if days is not None and not 1 <= days <= MAX_DAYS:
            raise CommandError(f"--days must be 1 to {MAX_DAYS}. Omit it for a key that does not expire.")
        if options["rate"] < 1:
            raise CommandError("--rate must be at least 1 request per second.")
        client = self._get_or_create_client(options)
        try:
            key, plaintext = api_keys.issue(
                client=client,
                by=BY,
                name=options["name"],
                subject=options["subject"],
                scopes=options["scopes"],
                rate=options["rate"],
                expires_at=None if days is None else timezone.now() + timedelta(days=days),
            )
        except api_keys.SubjectNotAllowed as error:
            raise CommandError(str(error)) from None
        self.stderr.write(f"Key {key.prefix} of {client}. It is shown only once:")
        self.stdout.write(plaintext)

    def _get_or_create_client(self, options: dict[str, Any]) -> Client:
        client = Client.objects.filter(name=options["client"]).first()
        if client is None:
            client = Client(name=options["client"])
            client.subject_pattern = options["subjects"] or client.subject_pattern
            client.op_patterns = options["ops"] or client.op_patterns
            try:
                client.full_clean()
            except ValidationError as error:
                raise CommandError(str(error)) from None
            client.save()
            values = {"subject_pattern": client.subject_pattern, "op_patterns": client.op_patterns}
            audit_log.record_change("client", client.name, None, values, by=BY, at=timezone.now())
        elif options["subjects"] or options["ops"]:
            raise CommandError(f"The client {client} already exists. Change its subjects and ops in the console.")
        return client
