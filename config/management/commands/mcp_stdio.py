import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from analytics.flags import FlagKey
from config import celery
from config.local_mode import dev_env
from core.background import poller
from gateway.contracts.errors import GatewayError
from gateway.jobs import job_loop
from registry.catalog import cache

KEY_VARIABLE = "GATEWAY_API_KEY"


class Command(BaseCommand):
    help = (
        "Serve MCP over standard input and output, for a desktop client on this machine. The API key is that of "
        f"{KEY_VARIABLE}; locally, without it, the one that make run wrote to var/dev.env."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--subject", default="", help="the end user to call for, if the key is not bound to one")

    def handle(self, *args: Any, **options: Any) -> None:
        from gateway.mcp_server import stdio  # the SDK takes most of a second to import

        key = os.environ.get(KEY_VARIABLE) or ("" if settings.PRODUCTION else dev_env.read().get(KEY_VARIABLE, ""))
        if not key:
            raise CommandError(f"Set {KEY_VARIABLE} to an API key. manage.py create_api_key creates one.")
        if not settings.PRODUCTION and not os.environ.get(FlagKey.SURFACE):
            settings.AGENTIC_CHAT_TOOL_GATEWAY = True  # as make run does
        poller.start()
        celery.start_embedded_worker()
        job_loop.start_locally()
        try:
            stdio.serve(key, subject=options["subject"])
        except (GatewayError, cache.NoLiveRelease) as error:
            raise CommandError(str(error)) from None
