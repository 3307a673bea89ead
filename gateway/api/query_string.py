"""Parsing the query string of a URL."""

from django.http import QueryDict

from core.text.lists import cache_by_text


@cache_by_text
def parse(query_string: str) -> dict[str, list[str]]:
    """Return the values of each parameter, in the order sent."""
    query = QueryDict(query_string.encode("latin-1"))  # WSGI carries bytes as latin-1 (PEP 3333)
    return {str(name): [str(value) for value in values] for name, values in query.lists()}
