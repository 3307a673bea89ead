"""Errors of the chat's API: {"error": {"code", "message", "retryable"}}."""

from typing import Any

from django.http import JsonResponse


class ApiError(Exception):
    """A request that is refused. `message` says what to send instead."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after

    def to_dict(self) -> dict[str, Any]:
        """Return the error as a body has it."""
        is_retryable = self.status in (429, 503) or self.code == "turn_running"
        return {"code": self.code, "message": self.message, "retryable": is_retryable}

    def to_response(self) -> JsonResponse:
        """Return the response."""
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after is not None else {}
        return JsonResponse({"error": self.to_dict()}, status=self.status, headers=headers)
