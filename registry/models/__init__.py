"""The draft (rows that admins edit) and the releases made from it.

Code that serves a model reads a release, never the draft's rows.
"""

from registry.models.agent import Agent
from registry.models.connection import REMOTE_KINDS, Connection, DocumentImport, UpstreamDefinition
from registry.models.eval_case import EvalCase
from registry.models.fields import name_validator, path_validator, word_validator
from registry.models.op import Group, Op, OpAlias
from registry.models.op_copy import Example, PolicyRule
from registry.models.op_embedding import OpEmbedding
from registry.models.paths import ROOT, get_parent_path
from registry.models.pin import Pin
from registry.models.prompt_section import PromptSection
from registry.models.release import Activation, Release
from registry.models.review_request import ReviewComment, ReviewRequest
from registry.models.scheduled_publish import ScheduledPublish
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
    "get_parent_path",
    "name_validator",
    "path_validator",
    "word_validator",
]
