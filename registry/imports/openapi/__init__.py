"""OpenAPI 3 and Swagger 2.0 documents as ops. It reads bytes and answers values: no database, no network."""

from registry.imports.openapi.document import OpenApiDocument, Operation, parse_document
from registry.imports.openapi.references import InvalidDocument
from registry.imports.openapi.security import SecurityScheme

__all__ = ["InvalidDocument", "OpenApiDocument", "Operation", "SecurityScheme", "parse_document"]
