"""What the section connections of the console declares: its pages and its entries in the sidebar."""

from core.manifest import Manifest, ModelList, SidebarEntry

MANIFEST = Manifest(
    entries=[
        SidebarEntry(
            section="Access",
            place=2,
            icon="hub",
            guide="connect",
            pages=[ModelList("Connections", "registry.Connection"), ModelList("User grants", "gateway.UserGrant")],
        ),
    ],
)
