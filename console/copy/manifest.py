"""What the section Copy of the console declares: its pages and its entries in the sidebar."""

from console.copy import add_op, try_op
from core.manifest import AdminPage, Manifest, ModelList, PageLink, SidebarEntry

EDITING = "admin-guide#edit-what-the-model-reads"
VOCABULARY = "admin-guide#vocabulary"
COPY_MODELS = ("op", "group", "promptsection", "agent", "pin", "vocabulary")
WRITE_COPY = [f"registry.{verb}_{model}" for verb in ("add", "change") for model in COPY_MODELS]

MANIFEST = Manifest(
    pages=[
        AdminPage("op_new", "registry/op/new/", add_op.page),
        AdminPage("op_try", "registry/op/<int:pk>/try/", try_op.page),
    ],
    entries=[
        SidebarEntry(
            section="Copy",
            place=1,
            icon="terminal",
            guide=EDITING,
            pages=[
                ModelList("Ops", "registry.Op"),
                ModelList("Policy rules", "registry.PolicyRule"),
                ModelList("Examples", "registry.Example"),
                ModelList("Aliases", "registry.OpAlias"),
                PageLink("Copy as files", "registry_op_files", WRITE_COPY),
            ],
        ),
        SidebarEntry("Copy", 2, "account_tree", EDITING, [ModelList("Groups", "registry.Group")]),
        SidebarEntry("Copy", 3, "article", EDITING, [ModelList("Prompt sections", "registry.PromptSection")]),
        SidebarEntry("Copy", 4, "smart_toy", "surfaces#agents", [ModelList("Agents", "registry.Agent")]),
        SidebarEntry("Copy", 5, "keep", "surfaces#hybrid-pins", [ModelList("Pins", "registry.Pin")]),
        SidebarEntry("Copy", 6, "dictionary", VOCABULARY, [ModelList("Vocabulary", "registry.Vocabulary")]),
    ],
)
