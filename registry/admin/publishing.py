"""Publishing the draft from a list of copy, and the page that asks why new warnings are right as they are."""

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from core import canonical, desk
from registry import releases
from registry.checks import Finding
from registry.forms import AcceptForm
from registry.models import Release

LISTED = 200  # warnings on a page: an import of thousands of functions has as many


class Publishing(desk.ModelAdmin[Any]):
    """A list with the action that publishes the draft, whatever is chosen."""

    actions = ["publish_draft"]

    @admin.action(description="Publish the whole draft", permissions=["publish"])
    def publish_draft(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        form = AcceptForm(request.POST if "seen" in request.POST else None)
        try:
            release = _publish(form, by=str(request.user))
        except releases.NeedsReason as error:
            page = {"title": "Publish with warnings?", "form": form, "opts": self.opts}
            page |= {"warnings": error.warnings[:LISTED], "count": len(error.warnings), "seen": _shown(error.warnings)}
            return TemplateResponse(request, "registry/accept.html", self.admin_site.each_context(request) | page)
        except releases.NotPublishable as error:
            for problem in error.problems[:10]:
                self.message_user(request, str(problem), messages.ERROR)
        except releases.AlreadyLive:
            self.message_user(request, "Nothing to publish: the draft is what is live.", messages.WARNING)
        except releases.Withdrawn as error:
            self.message_user(request, f"The draft is what was withdrawn. {error}", messages.ERROR)
        else:
            self.message_user(request, f"Release {release} is live with {release.op_count} ops.")
        return None

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.add_release")


def _publish(form: AcceptForm, *, by: str) -> Release:
    """Publish the draft, with the reason of a valid form for the warnings that it was shown with."""
    publish = partial(releases.publish, note="Published in the admin", by=by, at=timezone.now())
    try:
        return publish()
    except releases.NeedsReason as error:
        if not form.is_valid():
            raise
        if form.cleaned_data["seen"] != _shown(error.warnings):
            form.add_error(None, "The draft was edited meanwhile. Look at its warnings again.")
            raise
        return publish(accepted=form.cleaned_data["because"])


def _shown(warnings: list[Finding]) -> str:
    """Return what tells one list of warnings from another."""
    return canonical.digest([warning.as_dict() for warning in warnings])
