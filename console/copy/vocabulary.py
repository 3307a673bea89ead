"""The page of the vocabulary: words that models and people say, what they stand for, and where that is."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from console.copy.other_copy import CopyAdmin
from registry.catalog import cache
from registry.catalog.model import Catalog, CatalogOp
from registry.drafts import draft
from registry.models import Vocabulary
from registry.models.fields import MAX_WORD
from registry.snapshot import snapshot
from registry.vocabulary import CatalogVocabulary, CatalogWords, WordKind, find_option, iterate_arguments

MAX_PLACES = 20  # shown
NOWHERE = "Nothing in the live release."


@admin.register(Vocabulary)
class VocabularyAdmin(CopyAdmin):
    empty = "The vocabulary has other words for rows, arguments and values of ops. Import files, or add an entry."
    line_lists = {"words": MAX_WORD}
    list_display = ["meaning", "kind", "argument", "ops", "all_words", "updated_at"]
    list_filter = ["kind", "argument"]
    search_fields = ["meaning", "argument", "words"]
    readonly_fields = ["found_in"]
    fieldsets = [
        (
            "What the words stand for",
            {
                "fields": ["kind", "meaning", "words"],
                "description": "A call with a word for a value runs, with a warning. A call with another word gets "
                "an error with the corrected call. Search and the selection of tools use the words for kinds of rows. "
                "To switch off a shipped entry, remove its words. Upgrades keep it without words.",
            },
        ),
        ("Where", {"fields": ["argument", "ops", "found_in"]}),
    ]

    @admin.display(description="Words")
    def all_words(self, row: Vocabulary) -> str:
        return ", ".join(row.words) or "None"

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Add the shipped words to a draft without any before its first entry, and before the form looks for a double.

        A form that is then refused leaves them there. They are what a draft without words stands for.
        """
        if request.method == "POST" and object_id is None and self.has_add_permission(request):
            draft.add_shipped_words(by=str(request.user), at=timezone.now())
        return super().changeform_view(request, object_id, form_url, extra_context)

    @admin.display(description="Found in")
    def found_in(self, row: Vocabulary) -> SafeString | str:
        """Return the ops of the live release that have what the entry stands for."""
        try:
            places = list(_iterate_places(row, cache.get_live_catalog()))
        except cache.NoLiveRelease:
            places = []
        more = [f"and {len(places) - MAX_PLACES:,} more"] if len(places) > MAX_PLACES else []
        return format_html_join(", ", "{}", ((place,) for place in [*places[:MAX_PLACES], *more])) or NOWHERE


def _iterate_places(row: Vocabulary, catalog: Catalog) -> Iterator[str]:
    """Yield the ops that have what an entry stands for; for an argument or value, with the name of the argument."""
    entry = snapshot.row_to_entry(row)
    [words] = CatalogVocabulary.build([entry]).entries
    for op in catalog.ops.values():
        if row.kind == WordKind.ENTITY:
            yield from [op.op] if op.entity == row.meaning else []
        elif row.kind == WordKind.ACTION:
            yield from [op.op] if op.action == row.meaning else []
        elif fnmatchcase(op.op, row.ops or "*"):
            yield from (f"{op.op} {name}" for name in dict.fromkeys(_iterate_arguments(words, op)))


def _iterate_arguments(words: CatalogWords, op: CatalogOp) -> Iterator[str]:
    for name, argument in iterate_arguments(op.schema):
        if words.kind == WordKind.ARGUMENT:
            yield from [name] if name == words.meaning else []
        elif fnmatchcase(name, words.argument) and find_option(argument, words.meaning) is not None:
            yield name
