from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core import encryption
from gateway.credentials import key_rotation


class Command(BaseCommand):
    help = "Encrypt all stored secrets and tokens again with the first key of GATEWAY_ENCRYPTION_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        if not encryption.is_configured():
            raise CommandError(str(encryption.EncryptionNotConfigured()))
        counts = key_rotation.reencrypt_all()
        self.stdout.write(f"Encrypted {counts.done} values again.")
        if counts.failed:
            raise CommandError(
                f"{counts.failed} values were encrypted with a key that GATEWAY_ENCRYPTION_KEYS lacks. "
                "Add that key and run this again, or enter the secrets again."
            )
