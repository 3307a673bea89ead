"""Records: dataclasses that a call makes many of, and that nothing changes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T], /) -> type[T]: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(*, slots: bool = ..., repr: bool = ...) -> Callable[[type[T]], type[T]]: ...
def record(cls: Any = None, /, *, slots: bool = True, repr: bool = True) -> Any:
    """Make a class a dataclass that mypy takes for a frozen one.

    Python does not stop what changes it: to check that, it would set each field in six times the time, which is a
    thirtieth of the time of a read. A record has a hash, as frozen dataclasses have.
    """
    decorate = dataclass(slots=slots, repr=repr, unsafe_hash=True)
    return decorate if cls is None else decorate(cls)
