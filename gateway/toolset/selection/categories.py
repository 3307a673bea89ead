"""Categories of tools, derived from an op's path and kind."""

from enum import StrEnum

from registry.catalog.model import CatalogOp


class ToolCategory(StrEnum):
    """What a tool is for."""

    ONTOLOGY_READ = "ontology_read"
    ONTOLOGY_WRITE = "ontology_write"
    CALENDAR = "calendar"
    WEB = "web"
    PRODUCT_HELP = "product_help"
    UTILITY = "utility"


# Groups whose ops are of one category. Ops elsewhere are of the ontology if they are about an entity.
_CATEGORY_BY_GROUP = {
    "cal": ToolCategory.CALENDAR,
    "util.web": ToolCategory.WEB,
    "util.buildos": ToolCategory.PRODUCT_HELP,
    "util": ToolCategory.UTILITY,
    "x": ToolCategory.UTILITY,
}
ONLY_WHEN_ASKED = frozenset((ToolCategory.WEB, ToolCategory.PRODUCT_HELP))


def get_category(op: CatalogOp) -> ToolCategory:
    """Return the category of an op."""
    path = op.op
    while path := path.rpartition(".")[0]:
        if path in _CATEGORY_BY_GROUP:
            return _CATEGORY_BY_GROUP[path]
    return ToolCategory.ONTOLOGY_WRITE if op.is_write else ToolCategory.ONTOLOGY_READ
