"""Forms of the admin's own pages."""

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget


class AcceptForm(forms.Form):
    """Why a draft is published with warnings."""

    seen = forms.CharField(widget=forms.HiddenInput)  # which warnings the page showed
    reviewed = forms.BooleanField(label="I have read these warnings.", widget=UnfoldBooleanWidget)
    # Not "reason": the list's own form has that name, for switching off and withdrawing.
    because = forms.CharField(
        label="Why they are right as they are",
        max_length=500,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Kept with the release, for whoever asks later.",
    )
