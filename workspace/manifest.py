"""What the workspace offers: its ops, and demo rows."""

from pathlib import Path

from core.demo_data import DemoData
from core.handler_contract import EmbeddedUpstream, Lookups
from core.manifest import Manifest
from workspace import demo
from workspace.handlers import HANDLERS
from workspace.handlers.generic import fields
from workspace.services import access
from workspace.services.search import row_finder

MANIFEST = Manifest(
    upstreams=(
        EmbeddedUpstream(
            "workspace",
            HANDLERS,
            Lookups(
                find_rows=row_finder.find_rows,
                get_time_zone=access.get_zone,
                find_project=row_finder.find_project,
                find_title=row_finder.find_title,
                find_kind=row_finder.find_kind,
                find_date=row_finder.find_date,
                check_args=fields.check_args,
            ),
        ),
    ),
    copy=Path(__file__).parent / "copy",
    demo=DemoData(subjects=(demo.DEMO_SUBJECT, demo.DEMO_COLLEAGUE), load=demo.load_and_describe),
)
