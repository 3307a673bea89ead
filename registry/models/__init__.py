"""The draft (rows that admins edit) and the releases made from it.

Code that serves a model reads a release, never the draft's rows.
"""

from registry.models.connection import REMOTE_KINDS, Connection, DocumentImport, UpstreamDefinition
from registry.models.eval_case import EvalCase
from registry.models.fields import name_validator, path_validator, word_validator
from registry.models.op import ROOT, Group, Op, OpAlias, get_parent_path
from registry.models.op_copy import Example, OpEmbedding, PolicyRule
from registry.models.release import Activation, Release
from registry.models.review import ReviewComment, ReviewRequest, ScheduledPublish
from registry.models.surface_copy import Agent, Pin, PromptSection, Vocabulary
from registry.models.switch import Switch, SwitchQuerySet

__all__ = [
    "REMOTE_KINDS",
    "ROOT",
    "Activation",
    "Agent",
    "Connection",
    "DocumentImport",
    "EvalCase",
    "Example",
    "Group",
    "Op",
    "OpAlias",
    "OpEmbedding",
    "Pin",
    "PolicyRule",
    "PromptSection",
    "Release",
    "ReviewComment",
    "ReviewRequest",
    "ScheduledPublish",
    "Switch",
    "SwitchQuerySet",
    "UpstreamDefinition",
    "Vocabulary",
    "get_parent_path",
    "name_validator",
    "path_validator",
    "word_validator",
]
