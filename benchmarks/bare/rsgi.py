"""Django alone, behind the server that the gateway has."""

from django.core.wsgi import get_wsgi_application

from core.server.application import Application, Route
from core.server.thread_pool import ThreadPool, leave_connections_to_pools

_route = Route(ThreadPool("bare", 4), most_body_bytes=1_000_000)
leave_connections_to_pools()
application = Application(get_wsgi_application(), lambda _: _route, lambda _: "")
