"""The admin of connections: their page, imports of documents, and changes of their upstreams."""

from gateway.admin.connections import connection_page

__all__ = ["connection_page"]
