"""What the section Access of the console declares: its pages and its tabs."""

from console.access import data_flow, users
from core.manifest import AdminPage, Manifest, ModelList, PageLink, SectionTab
from registry.catalog import switches

MANIFEST = Manifest(
    areas={"people": ["auth.user", "auth.group", "axes.accessattempt"]},
    pages=[
        AdminPage("password_change", "password_change/", users.change_own_password),
        AdminPage("access_data_flow", "access/data-flow/", data_flow.show_data_flow),
    ],
    actions=[
        PageLink(
            "Add user", "auth_user_add", ["auth.add_user"], keywords=["invite a user", "new user", "create a user"]
        ),
        PageLink(
            "Add client", "gateway_client_add", ["gateway.add_client"], keywords=["new client", "create a client"]
        ),
        PageLink(
            "Add API key",
            "gateway_apikey_add",
            ["gateway.add_apikey"],
            keywords=["new API key", "create an API key"],
        ),
    ],
    tabs=[
        SectionTab(
            section="Access",
            place=1,
            guide="api-clients",
            pages=[
                ModelList("Clients", "gateway.Client"),
                ModelList("API keys", "gateway.ApiKey"),
                ModelList("Signed-in applications", "gateway.SignedInApplication"),
                ModelList("OAuth applications", "oauth2_provider.Application"),
                PageLink("Data flow", "access_data_flow", data_flow.SEE_DATA_FLOW, keywords=["exfiltration", "labels"]),
            ],
            name="Clients and keys",
        ),
        SectionTab(
            section="Access",
            place=2,
            guide="reference/roles",
            pages=[
                ModelList("Users", "auth.User"),
                ModelList("Roles", "auth.Group"),
                ModelList("Failed sign-ins", "axes.AccessAttempt"),
            ],
        ),
        SectionTab(
            section="Access",
            place=3,
            guide="admin-guide#who-did-what-the-audit-log",
            pages=[ModelList("Audit log", "audit.AuditEntry")],
        ),
        SectionTab(
            section="Access",
            place=4,
            guide="admin-guide#in-a-hurry-switches",
            pages=[ModelList("Switches", "registry.Switch", is_needed=switches.is_anything_off)],
        ),
    ],
)
