"""Forms of the admin's own pages."""

from typing import Any

from django import forms
from django.db.models import OuterRef, Subquery
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldBooleanWidget

from registry.models import Activation, Release


class PublishForm(forms.Form):
    """What is published, and, where it warns, why that is right."""

    note = forms.CharField(
        label="What is new, and why",
        max_length=500,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Stands beside the release, for whoever asks later what changed.",
    )
    reviewed = forms.BooleanField(label="I have read these warnings.", widget=UnfoldBooleanWidget)
    because = forms.CharField(
        label="Why they are right as they are",
        max_length=500,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Kept with the release.",
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)  # what was looked at (registry.review.Review.seen)

    def __init__(self, *args: Any, is_warned: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_warned:
            del self.fields["reviewed"], self.fields["because"]


class MakeLiveForm(forms.Form):
    """Why an older release goes live again."""

    note = forms.CharField(
        label="Note",
        max_length=500,
        initial="Made live again",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Stands beside the release in what was live when.",
    )


class WithdrawForm(forms.Form):
    """Why a release is taken out of use."""

    reason = forms.CharField(
        label="Why it is withdrawn",
        max_length=500,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Whoever misses it reads this.",
    )


class RestoreForm(forms.Form):
    """That a release goes back into the draft."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)  # the version of the draft that was looked at


class ReleaseField(forms.ModelChoiceField[Release]):
    """A release, told by when it was made and what was said when it last went live; none is the draft."""

    def __init__(self, **kwargs: Any) -> None:
        note = Activation.objects.filter(release=OuterRef("pk")).order_by("-activated_at", "-id").values("note")[:1]
        found = Release.objects.only("version", "created_at").annotate(note=Subquery(note))
        widget = UnfoldAdminSelectWidget()
        super().__init__(found, required=False, empty_label="The draft", widget=widget, **kwargs)

    def label_from_instance(self, obj: Any) -> str:
        said = [str(obj), f"{obj.created_at:%Y-%m-%d %H:%M}", obj.note]
        return " · ".join(filter(None, said))


class CompareForm(forms.Form):
    """Which two states to hold side by side."""

    before = ReleaseField(label="First")
    after = ReleaseField(label="Second")


class SeveralFiles(forms.ClearableFileInput):
    """A browser's choice of files."""

    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """Files, as a list."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        return [super(SeveralFilesField, self).clean(each, initial) for each in data or [None]]


class FilesForm(forms.Form):
    """Files of copy."""

    chosen = SeveralFilesField(
        label="YAML files, or a ZIP archive of them",
        widget=SeveralFiles(attrs={"accept": ".yaml,.yml,.zip"}),
        help_text="An entry that they name becomes what they say; one that they do not name stays.",
    )
