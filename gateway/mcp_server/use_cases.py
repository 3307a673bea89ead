"""When to use the server and its tools, in words that begin with "Use when".

Clients that load tools only when they seem needed choose them by these words. Without them a server with three tools
goes unnoticed, because the names of its ops are nowhere in the list.
"""

from registry.catalog.model import Catalog, Visibility
from registry.models import ROOT

MAX_PURPOSE_LENGTH = 600  # characters
MAX_BYTES = 2000  # of instructions; clients cut longer ones

# What a gateway tool is for; {purpose} is what the caller's ops are about. Tools of the discovery surface say it
# themselves.
BY_TOOL = {
    "tool_help": "Use when a request concerns {purpose}.",
    "tool_exec": "Use when you know which op does what the user wants.",
    "tool_batch": "Use when several calls do not need to see each other's answers first.",
}
DISCOVERY = "Use when a request concerns this: {purpose}. Lists the tools for it and describes them."


def describe_groups(catalog: Catalog, visibility: Visibility) -> str:
    """Return what the ops of a caller are about: the top-level groups with their summaries, as far as they fit."""
    groups = [path for path in catalog.view_for(visibility).children.get(ROOT, ()) if path in catalog.groups]
    summaries = (f"{catalog.groups[path] or path} ({path})" for path in groups)
    text = ""
    for summary in summaries:
        longer = f"{text}; {summary}" if text else summary
        if len(longer) > MAX_PURPOSE_LENGTH:
            break
        text = longer
    return text or "what its tools can do"


def build_instructions(purpose: str, prompt: str) -> str:
    """Return the instructions of the server: when to use it, then as many paragraphs of the prompt as fit."""
    text = f"Use when a request concerns {purpose}."
    for paragraph in prompt.split("\n\n"):
        longer = f"{text}\n\n{paragraph}"
        if len(longer.encode()) > MAX_BYTES:
            break
        text = longer
    return text
