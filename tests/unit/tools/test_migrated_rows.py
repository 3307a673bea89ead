"""Tests with real transactions leave the database as migrations do."""

from collections import Counter

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command


def list_rows() -> Counter[tuple[str, str]]:
    models = apps.get_models(include_auto_created=True)
    return Counter((model._meta.label, str(sorted(row.items()))) for model in models for row in model.objects.values())


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_emptied_database_has_the_rows_of_migrations() -> None:
    before = list_rows()
    permission = Permission.objects.get(codename="view_user").pk
    Group.objects.create(name="Left behind")

    call_command("flush", interactive=False, verbosity=0, reset_sequences=False)  # as after each such test

    assert list_rows() == before
    assert Permission.objects.get(codename="view_user").pk == permission
    assert Group.objects.filter(permissions=permission).exists()
    Group.objects.create(name="Another")  # with an id that no row has
