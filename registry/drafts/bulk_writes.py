"""Write many entries into rows at once, with a few statements per 500 rows."""

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from django.db.models import Model

from registry.models import Connection, Example, Op, OpAlias, PolicyRule
from registry.snapshot import snapshot

BATCH_SIZE = 500  # rows per statement

_POLICY_KINDS = {key: kind for kind, key in snapshot.POLICY_KEYS.items()}

Row = TypeVar("Row", bound=Model)


def save_rows(model: type[Row], added: list[Row], changed: list[Row], fields: Collection[str]) -> None:
    """Insert the added rows. Update these fields, and `shipped`, of the changed rows."""
    model._default_manager.bulk_create(added, batch_size=BATCH_SIZE)
    # An upsert by id is several times as fast as bulk_update, which has a CASE for each row and field.
    model._default_manager.bulk_create(
        changed,
        batch_size=BATCH_SIZE,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=[*fields, "shipped", "updated_at"],
    )


def get_or_create_connections(names: Iterable[str]) -> dict[str, Connection]:
    """Return {name: connection}, creating missing connections."""
    return {name: Connection.objects.get_or_create(name=name)[0] for name in sorted(set(names)) if name}


def replace_children(pairs: list[tuple[Op, dict[str, Any]]]) -> list[str]:
    """Replace the policy, examples and aliases of saved ops, if given. Return the aliases that were skipped.

    An alias that another op has is skipped.
    """

    def select_pairs(name: str) -> list[tuple[Op, Any]]:
        return [(row, changes[name]) for row, changes in pairs if name in changes]

    policies, examples, aliases = select_pairs("policy"), select_pairs("examples"), select_pairs("aliases")
    _replace_rows(
        PolicyRule,
        [row for row, _ in policies],
        [
            PolicyRule(op=row, kind=_POLICY_KINDS[key], text=text, position=position)
            for row, policy in policies
            for key, texts in policy.items()
            for position, text in enumerate(texts)
        ],
    )
    _replace_rows(
        Example,
        [row for row, _ in examples],
        [
            Example(op=row, position=position, **example)
            for row, entries in examples
            for position, example in enumerate(entries)
        ],
    )
    _replace_rows(OpAlias, [row for row, _ in aliases], [])
    taken = set(OpAlias.objects.values_list("name", flat=True)) if aliases else set()
    new_aliases = [(row, name) for row, names in aliases for name in names]
    OpAlias.objects.bulk_create(
        [OpAlias(op=row, name=name) for row, name in new_aliases if name not in taken], batch_size=BATCH_SIZE
    )
    return [name for _, name in new_aliases if name in taken]


def _replace_rows(model: type[Row], ops: list[Op], rows: list[Row]) -> None:
    for start in range(0, len(ops), BATCH_SIZE):
        model._default_manager.filter(op__in=ops[start : start + BATCH_SIZE]).delete()
    model._default_manager.bulk_create(rows, batch_size=BATCH_SIZE)
