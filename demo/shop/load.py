"""Import the shop's document into the draft, as an admin would."""

import json
from datetime import datetime

from demo.shop import service
from gateway.credentials.connection_secrets import list_origins
from gateway.models import ConnectionSecret
from registry.imports import import_document
from registry.imports.document_source import DocumentFiles
from registry.imports.import_document import Selection
from registry.imports.run_import import ImportResult
from registry.models import Connection

GROUP = "shop"  # and the name of the connection
BY = "load_demo"
NOTE = "Example shop"
TOKEN_REFERENCE = "env:UPSTREAM_SHOP_TOKEN"  # noqa: S105 - manage.py start sets the variable


def import_shop(url: str, *, at: datetime) -> ImportResult:
    """Import the shop that runs at an address, and set up its connection. Edits of admins stay."""
    address = f"{url}{service.DOCUMENT_PATH}"
    files = DocumentFiles(address, {address: json.dumps(service.load_document()).encode()})
    document = import_document.read_document(files)
    connection = Connection.objects.filter(name=GROUP).first() or Connection(name=GROUP, kind=Connection.Kind.HTTP)
    for name, value in import_document.describe_connection(document.content).items():
        setattr(connection, name, value)
    connection.save()
    ConnectionSecret.objects.update_or_create(
        connection=connection,
        name=ConnectionSecret.Name.TOKEN,
        defaults={"value": TOKEN_REFERENCE, "origin": list_origins(connection)},
    )
    result, _source = import_document.import_document(
        document, Selection(), group=GROUP, connection=connection, by=BY, at=at
    )
    return result
