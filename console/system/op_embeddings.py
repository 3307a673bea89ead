"""Read-only admin page of the vectors from the embeddings endpoint."""

from django.contrib import admin
from django.db.models import Q

from core.admin import base
from registry.models import OpEmbedding


class _NoVectorFilter(admin.EmptyFieldListFilter):
    """Django's filter would compare the vector with an empty text, which a binary column cannot be compared with."""

    def get_lookup_condition(self) -> Q:
        return Q(vector=None)


@admin.register(OpEmbedding)
class OpEmbeddingAdmin(base.ReadOnlyMixin, base.ModelAdmin[OpEmbedding]):
    empty = "Set SEARCH_EMBEDDINGS_URL. The text of each op is listed here once, first waiting, then with its vector."
    list_display = ["text_hash", "has_vector", "claimed_at", "refused_at", "used_at"]
    list_filter = [("vector", _NoVectorFilter), ("refused_at", admin.EmptyFieldListFilter)]
    search_fields = ["text_hash", "text"]
    exclude = ["vector"]
    show_full_result_count = False

    @admin.display(boolean=True, description="has a vector")
    def has_vector(self, row: OpEmbedding) -> bool:
        """Whether the endpoint has answered."""
        return row.vector is not None
