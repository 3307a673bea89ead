"""The result of a search on the native surface: the tools that it loads, as the provider takes them."""

from core.text import json_text
from gateway.toolset import formats, typed_ops
from gateway.toolset.surfaces.native import build_deferred_tool
from registry.catalog.model import Catalog
from registry.help.answers import HelpAnswer, build_answer


def add_loaded_tools(answer: HelpAnswer, catalog: Catalog, format: str) -> HelpAnswer:
    """Return the answer to a search with `tools`: the ops that it found, as the result of a provider's tool search.

    The items then tell no args: the tools have them. A search without a match finds groups, and loads no tools.
    """
    body = json_text.load(answer.body)
    ops = [catalog.ops[item["path"]] for item in body["items"] if item["path"] in catalog.ops]
    usable, _ = typed_ops.split_refused(catalog, ops)
    items = [{name: value for name, value in item.items() if name != "args"} for item in body["items"]]
    tools = formats.to_native_results([build_deferred_tool(catalog, op) for op in usable], format)
    return build_answer(
        body | {"items": items, "tools": tools}, result_count=answer.result_count, found_paths=answer.found_paths
    )
