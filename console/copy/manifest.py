"""What the section Copy of the console declares: its pages and its tabs."""

from console.copy import add_op, ops, try_op
from console.diff_view import WRITE_DRAFT
from core.manifest import AdminPage, Manifest, ModelList, PageLink, SectionTab

EDITING = "admin-guide#edit-what-the-model-reads"
VOCABULARY = "admin-guide#vocabulary"

MANIFEST = Manifest(
    pages=[
        AdminPage("op_new", "registry/op/new/", add_op.show_add_op),
        AdminPage("op_try", "registry/op/<int:pk>/try/", try_op.show_try_op),
    ],
    actions=[PageLink("Add op", "op_new", WRITE_DRAFT, keywords=["new op", "create an op"])],
    go_to_sources=[ops.find_ops_by_argument],
    tabs=[
        SectionTab(
            section="Copy",
            place=1,
            guide=EDITING,
            pages=[
                ModelList("Ops", "registry.Op"),
                ModelList("Policy rules", "registry.PolicyRule"),
                ModelList("Examples", "registry.Example"),
                ModelList("Aliases", "registry.OpAlias"),
                PageLink(
                    "Copy as files", "registry_op_files", WRITE_DRAFT, keywords=["import copy", "export copy", "YAML"]
                ),
            ],
        ),
        SectionTab("Copy", 2, EDITING, [ModelList("Groups", "registry.Group")]),
        SectionTab("Copy", 3, EDITING, [ModelList("Prompt sections", "registry.PromptSection")], name="Prompt"),
        SectionTab(
            "Copy",
            4,
            "surfaces#agents",
            [ModelList("Agents", "registry.Agent"), ModelList("Pins", "registry.Pin")],
            name="Agents and pins",
        ),
        SectionTab("Copy", 5, VOCABULARY, [ModelList("Vocabulary", "registry.Vocabulary")]),
    ],
)
