"""Forms of the admin's own pages."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget


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
