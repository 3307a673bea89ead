"""Load the shipped catalog into the draft, keeping the edits of admins (see registry.merge)."""

from pathlib import Path
from typing import Any

from django.db import transaction

from registry import files, merge
from registry.merge import Report
from registry.models import Op

CATALOG = Path(__file__).parent / "catalog"
SHIPPED = ""  # the source of shipped rows and of rows that admins added


def read(folder: Path = CATALOG) -> dict[str, Any]:
    """Return the shipped catalog as a snapshot. Raises files.BadCatalog."""
    return files.read(folder)


@transaction.atomic
def load(content: dict[str, Any]) -> Report:
    """Merge a snapshot of shipped copy into the draft and report what was done. Imported rows are left alone."""
    report = Report()
    merge.groups(content["groups"], source=SHIPPED, report=report)
    merge.ops(content["ops"], source=SHIPPED, report=report)
    named = {entry["op"] for entry in content["ops"]}
    shipped = Op.objects.filter(source=SHIPPED, shipped__isnull=False).values_list("op", flat=True)
    report.gone = sorted(path for path in shipped if path not in named)
    merge.sections(content.get("sections", []), report=report)
    return report
