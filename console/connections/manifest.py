"""What the section connections of the console declares: its pages and its tabs."""

from core.manifest import Manifest, ModelList, SectionTab

MANIFEST = Manifest(
    tabs=[
        SectionTab(
            section="Connections",
            place=1,
            guide="connect",
            pages=[ModelList("Connections", "registry.Connection"), ModelList("User grants", "gateway.UserGrant")],
        ),
    ],
)
