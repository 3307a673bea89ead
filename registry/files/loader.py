"""Load the shipped catalog into the draft, keeping the edits of admins (see registry.drafts.merge)."""

from pathlib import Path
from typing import Any

from django.db import transaction

from registry.drafts import merge
from registry.drafts.merge import MergeReport
from registry.files import yaml_format
from registry.models import Op
from registry.snapshot.copy_kinds import COPY_KINDS, Kind

CATALOG_FOLDER = Path(__file__).parent.parent / "shipped"
SHIPPED_SOURCE = ""  # the source of shipped rows and of rows that admins added


def read_shipped_catalog(folder: Path = CATALOG_FOLDER) -> dict[str, Any]:
    """Return the shipped catalog as a snapshot. Raises files.InvalidCatalogFiles."""
    return yaml_format.read_folder(folder)


@transaction.atomic
def load_into_draft(content: dict[str, Any]) -> MergeReport:
    """Merge a snapshot of shipped copy into the draft and report what was done. Imported rows are left alone."""
    report = MergeReport()
    merge.merge_groups(content["groups"], source=SHIPPED_SOURCE, report=report)
    merge.merge_ops(content["ops"], source=SHIPPED_SOURCE, report=report)
    paths = {entry["op"] for entry in content["ops"]}
    shipped = Op.objects.filter(source=SHIPPED_SOURCE, shipped__isnull=False).values_list("op", flat=True)
    report.no_longer_shipped = sorted(path for path in shipped if path not in paths)
    for kind in (Kind.SECTION, Kind.AGENT, Kind.PIN):
        copy_kind = COPY_KINDS[kind]
        merge.merge_shipped(copy_kind, content.get(copy_kind.key, []), report=report)
    return report
