"""The labels of data flow: what an op brings into a turn, and whether it sends data out (see gateway.data_flow)."""

from collections.abc import Collection
from enum import StrEnum
from typing import cast

from django.core.exceptions import ValidationError


class FlowLabel(StrEnum):
    """What the data of an op is, or where it goes."""

    UNTRUSTED = "untrusted"  # brings in text that strangers wrote
    PRIVATE = "private"  # reads data of the user
    OUTBOUND = "outbound"  # sends data to people or services outside


FLOW_LABEL_CHOICES = [
    (FlowLabel.UNTRUSTED.value, "untrusted: brings in text from strangers"),
    (FlowLabel.PRIVATE.value, "private: reads the user's data"),
    (FlowLabel.OUTBOUND.value, "outbound: sends data out"),
]


def are_flow_labels(value: object) -> bool:
    """Return whether a value is a list of different labels."""
    labels = cast("list[object]", value) if isinstance(value, list) else [None]
    return all(isinstance(each, str) and each in set(FlowLabel) for each in labels) and len(set(labels)) == len(labels)


def validate_flow_labels(value: object) -> None:
    """Refuse anything but a list of different labels."""
    if not are_flow_labels(value):
        raise ValidationError(f"Send a list of different labels of {', '.join(FlowLabel)}.")


def sort_flow_labels(labels: Collection[str]) -> list[str]:
    """Return labels in the order of FlowLabel."""
    return [label.value for label in FlowLabel if label in labels]
