"""Lists of rules, examples and aliases across all ops, to find a phrase in any of them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from console.copy.other_copy import CopyAdmin
from registry.models import Example, OpAlias, PolicyRule


class OpPartAdmin(CopyAdmin):
    """A row that belongs to an op."""

    list_select_related = ["op"]
    autocomplete_fields = ["op"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("registry.change_op")


@admin.register(PolicyRule)
class PolicyRuleAdmin(OpPartAdmin):
    empty = "A rule says how to use an op. Add one here or on the op's page."
    list_display = ["op", "kind", "text"]
    list_display_links = ["text"]
    list_filter = ["kind"]
    search_fields = ["text", "op__op"]
    go_to_order = 6


@admin.register(Example)
class ExampleAdmin(OpPartAdmin):
    empty = "An example is a working call. Add one here or on the op's page."
    list_display = ["op", "title", "note"]
    list_display_links = ["title"]
    search_fields = ["title", "note", "op__op"]


@admin.register(OpAlias)
class OpAliasAdmin(OpPartAdmin):
    empty = "An alias is another name for an op. Add one here or on the op's page."
    list_display = ["name", "op"]
    search_fields = ["name", "op__op"]
