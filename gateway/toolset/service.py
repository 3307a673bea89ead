"""toolset: choose what to show the model at the start of a turn. The flags decide; a token keeps the decision."""

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from analytics.rollout.evaluation import Outcome
from analytics.rollout.flags import STATIC, FlagKey, Surface
from core import tokens as tokens_of
from gateway import flags, serving
from gateway.callers import Caller
from gateway.envelopes import Trace
from gateway.errors import Denied, FieldError, Invalid
from gateway.models import Scope
from gateway.serving import Served
from gateway.toolset import surfaces, tokens
from gateway.toolset.formats import FORMATS
from gateway.validation import field_errors
from registry import schemas
from registry.catalogs import Catalog

BODY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "maxLength": 20_000, "description": "What the user wrote"},
        "format": {"type": "string", "enum": list(FORMATS), "description": "The tool format of this provider"},
        "surface": {
            "type": "string",
            "enum": list(Surface),
            "description": "Preview this surface instead of the flags' choice (scope preview; no exposure)",
        },
    },
    "required": ["format"],
    "additionalProperties": False,
}

KEPT = 100  # toolsets cached per catalog


@dataclass(frozen=True, slots=True)
class Made:
    """A toolset without its token. `tokens` counts the tokens of tools and prompt."""

    tools: list[dict[str, Any]]
    prompt: str
    tokens: int
    left_out: tuple[str, ...]


def ask(body: dict[str, Any], caller: Caller, trace: Trace) -> dict[str, Any]:
    """Return {id, surface, release, cohort, tools, prompt, tokens, selection?}.

    `tokens` counts tools and prompt together (o200k_base). Raises Invalid for a malformed body, Denied for a preview
    without the scope, catalogs.NothingLive if no release is live.
    """
    if errors := field_errors(_validator(), BODY, body):
        raise Invalid(
            f"The toolset request is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    served, outcomes = _decided(caller, body.get("surface"))
    catalog = serving.catalog(served)
    served = replace(served, release=catalog.version)
    trace.release = catalog.version
    made = _made(served.surface, body["format"], catalog, caller)
    serving.expose(outcomes, caller.subject)
    return {
        "id": tokens.issue(served, key=caller.key, subject=caller.subject),
        "surface": served.surface,
        "release": served.release,
        "cohort": served.cohort,
        "tools": made.tools,
        "prompt": made.prompt,
        "tokens": made.tokens,
        **_selection(served.surface, made),
    }


def _decided(caller: Caller, surface: str | None) -> tuple[Served, list[Outcome]]:
    """Return what the flags decide and the exposures to record; a preview records none."""
    served, outcomes = serving.decide(caller.facts)
    if surface is not None:
        if Scope.PREVIEW not in caller.key.scopes:
            message = "This API key lacks the scope preview. Leave surface out, or use a key that has it."
            problem = FieldError("/surface", "scope_missing", "Leave it out.")
            raise Denied(message, reason="scope_missing", field_errors=[problem])
        return replace(served, surface=surface), []
    if served.surface == Surface.LEGACY:
        outcomes.append(flags.decide(FlagKey.SELECTION, caller.facts))
    return served, outcomes


def _selection(surface: str, made: Made) -> dict[str, Any]:
    """Return how tools were selected; only the legacy surface selects tools."""
    if surface != Surface.LEGACY:
        return {}
    left_out = {"left_out": list(made.left_out)} if made.left_out else {}
    return {"selection": {"kind": STATIC, "count": len(made.tools), **left_out}}


@cache
def _validator() -> schemas.Validator:
    return schemas.Validator(BODY)


class _Made(dict[Any, Made]):
    """Toolsets of one catalog, by all they depend on."""


def _made(surface: str, format: str, catalog: Catalog, caller: Caller) -> Made:
    kept = catalog.derived(_Made, _Made)
    key = (surface, format, caller.context.type, caller.visibility)
    made = kept.get(key)  # one lookup: another thread may clear the cache at any time
    if made is None:
        if len(kept) >= KEPT:
            kept.clear()
        made = kept[key] = _make(surface, format, catalog, caller)
    return made


def _make(surface: str, format: str, catalog: Catalog, caller: Caller) -> Made:
    shown = surfaces.show(surface, catalog, caller.visibility, caller.context.type)
    found = [FORMATS[format](tool) for tool in shown.tools]
    prompt = surfaces.prompt(surface, catalog, shown)
    size = tokens_of.count(json.dumps(found, separators=(",", ":"), ensure_ascii=False)) + tokens_of.count(prompt)
    return Made(found, prompt, size, shown.left_out)
