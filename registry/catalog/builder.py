"""Build the catalog in memory from the content of a release (see registry.snapshot.snapshot)."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from registry import vocabulary
from registry.catalog.model import (
    Catalog,
    CatalogAgent,
    CatalogDomain,
    CatalogOp,
    CatalogPin,
    CatalogSection,
    map_names_to_paths,
)
from registry.jsonschema.dialect import Schema
from registry.models import ROOT, Agent, PromptSection
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.entries import AgentEntry, ExampleEntry, GroupEntry, OpEntry, SectionEntry, Snapshot
from registry.vocabulary import NO_VOCABULARY, CatalogVocabulary


def build_catalog(
    version: str, content: Snapshot, tokens: dict[str, list[int]] | None = None, *, similar: Catalog | None = None
) -> Catalog:
    """Build the catalog from a release's content.

    Ops whose entries equal those of a similar catalog are its objects: releases differ in few ops, and so a second one
    takes little memory.
    """
    words = _build_vocabulary(content.get("vocabulary"))
    digests = {entry["op"]: _compute_digest(entry) for entry in content["ops"]}
    known: Mapping[str, CatalogOp] = {}
    if similar is not None and words.entries == similar.vocabulary.entries:  # the schemas of ops have its words
        words = similar.vocabulary
        known = {path: op for path, op in similar.ops.items() if digests.get(path) == similar.digests.get(path)}
    ops = {entry["op"]: known.get(entry["op"]) or build_op(entry, words) for entry in content["ops"]}
    groups = {group["path"]: group["summary"] for group in content["groups"]}
    groups.setdefault(ROOT, "Groups of ops.")
    return Catalog(
        version,
        ops,
        groups,
        names=map_names_to_paths(ops, groups),
        prompts=_build_prompts(content.get("sections", [])),
        agents=_build_agents(content.get("agents", [])),
        pins=tuple(
            CatalogPin(pin["surface"], pin["context"], pin["model_family"], tuple(pin["ops"]), pin["max_tokens"])
            for pin in content.get("pins", [])
        ),
        domains=_build_domains(content["groups"]),
        vocabulary=words,
        tokens=tokens or {},
        digests=digests,
    )


def build_op(entry: OpEntry, words: CatalogVocabulary = NO_VOCABULARY) -> CatalogOp:
    """Build a catalog op from a release's entry. Its schema gets the words that the vocabulary has for its values."""
    fields: dict[str, Any] = dict(entry)
    fields["schema"] = words.add_value_aliases(fields["op"], fields.pop("parameters_schema"))
    fields["vocabulary"] = words
    fields["display_only"] = frozenset(fields.get("display_only", ()))
    fields["flow_labels"] = frozenset(fields.get("flow_labels", ()))
    for name in ("contexts", "keywords", "aliases", "result_fields"):
        fields[name] = tuple(fields.get(name, ()))
    fields["examples"] = tuple(_order_example(example, fields["schema"]) for example in fields.get("examples", ()))
    return CatalogOp(**fields)


def _compute_digest(entry: OpEntry) -> bytes:
    """Return what tells an entry from others. Unlike the values, their texts tell 1 from 1.0 and true."""
    return hashlib.blake2b(json.dumps(entry).encode(), digest_size=16).digest()


def _build_vocabulary(entries: Iterable[Mapping[str, Any]] | None) -> CatalogVocabulary:
    """Build the vocabulary of a release. One that has none is older, or its draft never got the shipped words."""
    return CatalogVocabulary.build(entries) if entries is not None else vocabulary.get_shipped_names()


def build_draft_vocabulary() -> CatalogVocabulary:
    """Build the vocabulary of the draft. Takes one query."""
    entries = snapshot.list_entries(COPY_KINDS[Kind.VOCABULARY])
    return _build_vocabulary(entries or None)


def _build_prompts(entries: list[SectionEntry]) -> dict[str, tuple[CatalogSection, ...]]:
    sections_by_prompt: dict[str, tuple[CatalogSection, ...]] = {}
    for entry in sorted(entries, key=lambda entry: (entry["position"], entry["name"])):
        if entry["status"] == PromptSection.Status.ACTIVE:
            section = CatalogSection(name=entry["name"], title=entry["title"], text=entry["text"])
            sections_by_prompt[entry["prompt"]] = (*sections_by_prompt.get(entry["prompt"], ()), section)
    return sections_by_prompt


def _build_domains(entries: list[GroupEntry]) -> dict[str, CatalogDomain]:
    domains = (
        CatalogDomain(entry["discovery_name"], entry["path"], entry.get("discovery_summary") or entry["summary"])
        for entry in entries
        if entry.get("discovery_name")
    )
    return {domain.name: domain for domain in domains}


def _build_agents(entries: list[AgentEntry]) -> dict[str, CatalogAgent]:
    agents: dict[str, CatalogAgent] = {}
    for entry in entries:
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
        }
        if fields.pop("status") == Agent.Status.ACTIVE:
            agents[entry["name"]] = CatalogAgent(**fields)
    return agents


def _order_example(example: ExampleEntry, schema: Schema) -> dict[str, Any]:
    """Return an example in reading order: title, args (required ones first), note."""
    required = schema.get("required", [])
    args = {name: example["args"][name] for name in sorted(example["args"], key=lambda name: name not in required)}
    ordered = {"title": example.get("title"), "args": args, "note": example.get("note")}
    return {name: value for name, value in ordered.items() if value is not None}
