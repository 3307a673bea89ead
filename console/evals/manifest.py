"""What the section evals of the console declares: its pages and its entries in the sidebar."""

from core.manifest import Manifest, ModelList, PageLink, SidebarEntry

MANIFEST = Manifest(
    entries=[
        SidebarEntry(
            section="Releases",
            place=2,
            icon="quiz",
            guide="evals",
            pages=[
                PageLink("Evals", "registry_evalcase_compare", ["registry.view_evalcase"]),
                ModelList("Eval cases", "registry.EvalCase"),
                ModelList("Evals with a model", "gateway.ModelRun"),
            ],
        ),
    ],
)
