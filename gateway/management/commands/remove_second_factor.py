from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.sign_in import second_factor


class Command(BaseCommand):
    help = "Remove the second factors of a user who lost them, such as the only admin."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="User name, as they sign in.")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no user {options['username']}.")
        count = second_factor.remove_second_factors(user, by="manage.py")
        self.stdout.write(f"{user} no longer has a second factor." if count else f"{user} had no second factor.")
