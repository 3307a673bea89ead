"""Admin pages of the draft and its releases, one module a page. Importing a module registers its pages."""

from registry.admin import (
    activations,
    copy_pages,
    copy_rows,
    eval_cases,
    history,
    op_embeddings,
    ops,
    releases,
    switches,
)

__all__ = [
    "activations",
    "copy_pages",
    "copy_rows",
    "eval_cases",
    "history",
    "op_embeddings",
    "ops",
    "releases",
    "switches",
]
