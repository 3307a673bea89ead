"""What the section evals of the console declares: its pages and its tabs."""

from core.manifest import Manifest, ModelList, PageLink, SectionTab

MANIFEST = Manifest(
    actions=[
        PageLink("Add eval case", "registry_evalcase_add", ["registry.add_evalcase"], keywords=["new eval case"]),
    ],
    tabs=[
        SectionTab(
            section="Releases",
            place=3,
            guide="evals",
            pages=[
                PageLink("Evals", "registry_evalcase_compare", ["registry.view_evalcase"]),
                ModelList("Eval cases", "registry.EvalCase"),
                ModelList("Evals with a model", "gateway.ModelRun"),
            ],
        ),
    ],
)
