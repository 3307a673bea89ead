"""What the section Access of the console declares: its pages and its entries in the sidebar."""

from console.access import users
from core.manifest import AdminPage, Manifest, ModelList, SidebarEntry

MANIFEST = Manifest(
    areas={"people": ["auth.user", "auth.group", "axes.accessattempt"]},
    pages=[AdminPage("password_change", "password_change/", users.change_own_password)],
    entries=[
        SidebarEntry(
            section="Access",
            place=1,
            icon="apps",
            guide="api-clients",
            pages=[
                ModelList("Clients", "gateway.Client"),
                ModelList("API keys", "gateway.ApiKey"),
                ModelList("Signed-in applications", "gateway.SignedInApplication"),
                ModelList("OAuth applications", "oauth2_provider.Application"),
            ],
        ),
        SidebarEntry(
            "Access", 3, "toggle_off", "admin-guide#in-a-hurry-switches", [ModelList("Switches", "registry.Switch")]
        ),
        SidebarEntry(
            section="Access",
            place=4,
            icon="person",
            guide="reference/roles",
            pages=[
                ModelList("Users", "auth.User"),
                ModelList("Roles", "auth.Group"),
                ModelList("Failed sign-ins", "axes.AccessAttempt"),
            ],
        ),
        SidebarEntry(
            section="Access",
            place=5,
            icon="history",
            guide="admin-guide#who-did-what-the-audit-log",
            pages=[ModelList("Audit log", "audit.AuditEntry")],
        ),
    ],
)
