"""What all views of the API share: who asks, errors as JSON, and work in threads that give back their connection."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from chat import access
from chat.access import Identity, identify_person, read_credentials
from chat.connections import gives_connection_back
from chat.errors import ApiError

R = TypeVar("R")

THREADS = 8

_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="chat-api")

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def api_view(*methods: str) -> Callable[[View], View]:
    """Decorate an async view. `identify_person` checks CSRF, so the middleware does not."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        async def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in methods:
                error = ApiError(405, "method_not_allowed", f"Send {' or '.join(methods)}.")
                response = error.to_response()
                response.headers["Allow"] = ", ".join(methods)
                return response
            try:
                return await view(request, *args, **kwargs)
            except ApiError as error:
                return error.to_response()

        return wrapper

    return decorate


async def run_with_identity(request: HttpRequest, function: Callable[[Identity], R], *, starts_turn: bool = False) -> R:
    """Identify the caller and call the function in a thread, whose connection is free again after that.

    With `starts_turn`, the function only begins a turn, and the gateway judges each of its calls.
    """
    credentials = read_credentials(request)
    if credentials is not None:
        await access.check_with_gateway(credentials, starts_turn=starts_turn)

    @gives_connection_back
    def call_function() -> R:
        return function(Identity(credentials) if credentials else identify_person(request))

    return await run_in_thread(call_function)


async def run_in_thread(function: Callable[[], R]) -> R:
    """Run something in one of a few threads, which keep their connections if there is no pool."""
    return await asyncio.get_running_loop().run_in_executor(_threads, function)
