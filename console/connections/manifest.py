"""What the section connections of the console declares: its pages and its tabs."""

from console.diff_view import WRITE_DRAFT
from core.manifest import Manifest, ModelList, PageLink, SectionTab

IMPORT_OPS = [*WRITE_DRAFT, "registry.add_connection"]

MANIFEST = Manifest(
    actions=[
        PageLink(
            "Import an OpenAPI document",
            "registry_connection_import",
            IMPORT_OPS,
            keywords=["connect a service", "add a service", "swagger"],
        ),
        PageLink(
            "Import an MCP server", "registry_connection_import_server", IMPORT_OPS, keywords=["connect a server"]
        ),
        PageLink("Add connection", "registry_connection_add", ["registry.add_connection"], keywords=["new connection"]),
    ],
    tabs=[
        SectionTab(
            section="Connections",
            place=1,
            guide="connect",
            pages=[
                ModelList("Connections", "registry.Connection"),
                ModelList("User grants", "gateway.UserGrant"),
                ModelList("Own keys", "gateway.UserKey"),
            ],
        ),
    ],
)
