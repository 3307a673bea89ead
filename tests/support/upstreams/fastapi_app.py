"""A FastAPI service that records what it received. It uses what services of FastAPI usually use."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from threading import Thread
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import Body, Cookie, FastAPI, Form, Header, Path, Query, Response, UploadFile
from pydantic import AfterValidator, BaseModel, Field

from tests.support.servers.processes import eventually, free_port

PDF = b"%PDF-1.7\x00\xff"


def check_cents(price: float) -> float:
    """Return a price of whole cents. JSON Schema of the document does not have this rule, so only the app checks it."""
    if round(price, 2) != price:
        raise ValueError("A price has whole cents.")
    return price


def check_digits(number: str) -> str:
    """Return a number of a card. The document does not have this rule either."""
    if not number.isdigit():
        raise ValueError("A card has a number of digits.")
    return number


class SortOrder(StrEnum):
    """How a list is sorted."""

    PRICE = "price"
    NAME = "name"


class Size(BaseModel):
    """The size of an item in millimetres."""

    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]


class Item(BaseModel):
    """An item to sell."""

    name: Annotated[str, Field(max_length=20)]
    price: Annotated[float, Field(ge=0), AfterValidator(check_cents)]
    size: Size | None = None
    tags: set[str] = set()


class Card(BaseModel):
    """A payment by card."""

    method: Literal["card"]
    number: Annotated[str, Field(min_length=4), AfterValidator(check_digits)]


class Transfer(BaseModel):
    """A payment by bank transfer."""

    method: Literal["transfer"]
    iban: str


Payment = Annotated[Card | Transfer, Field(discriminator="method")]


class Checkout(BaseModel):
    """What is bought, and how it is paid."""

    items: Annotated[list[Item], Field(min_length=1)]
    payment: Payment


class RecordingApp:
    """The service. `received` has the arguments of each call, as FastAPI parsed them."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.app = FastAPI(title="Stationery")
        self._add_reads()
        self._add_writes()
        self._add_files()

    def record(self, **values: Any) -> dict[str, Any]:
        """Record the arguments of a call and return the answer."""
        self.received.append(values)
        return {"call": len(self.received)}

    def _add_reads(self) -> None:
        @self.app.get("/items", tags=["items"])
        def list_items(
            tag: Annotated[list[str] | None, Query()] = None,
            sort: SortOrder = SortOrder.NAME,
            limit: Annotated[int, Query(ge=1, le=100)] = 10,
        ) -> dict[str, Any]:
            return self.record(tag=tag, sort=sort, limit=limit)

        @self.app.get("/items/{item_id}", tags=["items"])
        def get_item(item_id: Annotated[int, Path(ge=1)], with_stock: bool = False) -> dict[str, Any]:
            return self.record(item_id=item_id, with_stock=with_stock)

        @self.app.get("/session", tags=["session"])
        def get_session(
            x_shop: Annotated[str, Header()], theme: Annotated[str | None, Cookie()] = None
        ) -> dict[str, Any]:
            return self.record(x_shop=x_shop, theme=theme)

    def _add_writes(self) -> None:
        @self.app.post("/items", status_code=201, tags=["items"])
        def create_item(item: Item) -> dict[str, Any]:
            return self.record(item=item)

        @self.app.put("/items/{item_id}", tags=["items"])
        def replace_item(item_id: int, item: Item, reason: Annotated[str, Body()]) -> dict[str, Any]:
            return self.record(item_id=item_id, item=item, reason=reason)

        @self.app.delete("/items/{item_id}", status_code=204, tags=["items"])
        def delete_item(item_id: int) -> None:
            self.record(item_id=item_id)

        @self.app.post("/checkouts", tags=["checkouts"])
        def create_checkout(checkout: Checkout) -> dict[str, Any]:
            return self.record(checkout=checkout)

        @self.app.post("/payments", tags=["checkouts"])
        def create_payment(payment: Payment) -> dict[str, Any]:
            return self.record(payment=payment)

    def _add_files(self) -> None:
        @self.app.post("/feedback", tags=["feedback"])
        def create_feedback(text: Annotated[str, Form()], stars: Annotated[int, Form(ge=1, le=5)]) -> dict[str, Any]:
            return self.record(text=text, stars=stars)

        @self.app.post("/items/{item_id}/photo", tags=["items"])
        def upload_photo(item_id: int, photo: UploadFile, caption: Annotated[str, Form()] = "") -> dict[str, Any]:
            return self.record(
                item_id=item_id, photo=(photo.filename, photo.content_type, photo.file.read()), caption=caption
            )

        @self.app.get("/exports/{name:path}", tags=["exports"], response_class=Response)
        def get_export(name: str) -> Response:
            self.record(name=name)
            headers = {"Content-Disposition": 'attachment; filename="items.pdf"'}
            return Response(PDF, media_type="application/pdf", headers=headers)


@contextmanager
def serve_app(app: FastAPI) -> Iterator[str]:
    """Serve an app in a thread until the block ends, and yield its URL."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", lifespan="off", ws="none"))
    thread = Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started, within=20, what="the service's start")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
