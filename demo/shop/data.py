"""The shop's rows, and what can be done with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any

Row = dict[str, Any]
CURRENCY = "EUR"


class ShopRefusal(Exception):
    """A request that the shop refuses. `errors` names the fields: {name: what is wrong}."""

    def __init__(self, status: int, title: str, errors: Mapping[str, str] | None = None) -> None:
        super().__init__(title)
        self.status, self.title, self.errors = status, title, dict(errors or {})


def _build_products() -> dict[str, Row]:
    rows = (
        ("kettle-1l", "Kettle, 1 litre", "kitchen", 34.90, 12),
        ("kettle-2l", "Kettle, 1.7 litres", "kitchen", 49.00, 0),
        ("toaster", "Toaster for two slices", "kitchen", 39.50, 7),
        ("lamp-desk", "Desk lamp, dimmable", "light", 59.00, 21),
        ("lamp-floor", "Floor lamp, warm white", "light", 119.00, 3),
        ("bulb-e27", "LED bulb E27, 8 W", "light", 6.90, 240),
        ("fan-tower", "Tower fan, quiet", "climate", 89.00, 5),
        ("heater-oil", "Oil heater, 2 kW", "climate", 99.00, 9),
    )
    return {
        id: {"id": id, "name": name, "category": category, "price": price, "currency": CURRENCY, "in_stock": stock}
        for id, name, category, price, stock in rows
    }


def _build_customers() -> dict[str, Row]:
    rows = (("c-1", "Ada Brandt", "ada@example.com"), ("c-2", "Ben Okafor", "ben@example.com"))
    return {id: {"id": id, "name": name, "email": email} for id, name, email in rows}


@dataclass
class Shop:
    """All rows of the shop. Several threads can call its methods."""

    products: dict[str, Row] = field(default_factory=_build_products)
    customers: dict[str, Row] = field(default_factory=_build_customers)
    orders: dict[str, Row] = field(default_factory=dict)
    answers_by_key: dict[str, Row] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def create_order(self, body: Row, *, key: str) -> Row:
        """Create an order and take its products from stock. A repeated key returns the same order."""
        with self._lock:
            if key and key in self.answers_by_key:
                return self.answers_by_key[key]
            lines = [self._check_line(index, line) for index, line in enumerate(body["lines"])]
            if body["customer_id"] not in self.customers:
                raise ShopRefusal(422, "The order is not valid.", {"customer_id": "There is no such customer."})
            for product, quantity in lines:
                product["in_stock"] -= quantity
            order = {
                "id": f"o-{len(self.orders) + 1}",
                "customer_id": body["customer_id"],
                "status": "open",
                "lines": [{"product_id": product["id"], "quantity": quantity} for product, quantity in lines],
                "total": round(sum(product["price"] * quantity for product, quantity in lines), 2),
                "currency": CURRENCY,
                "note": body.get("note", ""),
                "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            self.orders[order["id"]] = order
            if key:
                self.answers_by_key[key] = order
            return order

    def cancel_order(self, id: str) -> Row:
        """Cancel an order and return its products to stock."""
        with self._lock:
            order = find_row(self.orders, id, "order")
            if order["status"] != "open":
                raise ShopRefusal(409, f"The order is {order['status']} and cannot be cancelled.")
            for line in order["lines"]:
                self.products[line["product_id"]]["in_stock"] += line["quantity"]
            order["status"] = "cancelled"
            return order

    def update_product(self, id: str, body: Row) -> Row:
        """Change a product's price or stock."""
        with self._lock:
            product = find_row(self.products, id, "product")
            product |= {name: body[name] for name in ("price", "in_stock") if name in body}
            return product

    def write_invoice(self, id: str) -> str:
        """Return an order's invoice as CSV."""
        order = find_row(self.orders, id, "order")
        lines = [f"{self.products[line['product_id']]['name']},{line['quantity']}" for line in order["lines"]]
        return "\n".join(["product,quantity", *lines, f"total,{order['total']:.2f}"]) + "\n"

    def _check_line(self, index: int, line: Row) -> tuple[Row, int]:
        product = self.products.get(line["product_id"])
        if product is None:
            errors = {f"lines/{index}/product_id": "There is no such product."}
            raise ShopRefusal(422, "The order is not valid.", errors)
        if product["in_stock"] < line["quantity"]:
            errors = {f"lines/{index}/quantity": f"Only {product['in_stock']} of {product['id']} are in stock."}
            raise ShopRefusal(422, "The order is not valid.", errors)
        return product, line["quantity"]


def find_row(rows: Mapping[str, Row], id: str, kind: str) -> Row:
    """Return a row by id. Raises ShopRefusal 404."""
    if id not in rows:
        raise ShopRefusal(404, f"There is no {kind} {id}.")
    return rows[id]


def list_page(rows: list[Row], name: str, query: Mapping[str, str]) -> Row:
    """Return a page of rows as {name: rows, total}."""
    limit, offset = int(query.get("limit", "20")), int(query.get("offset", "0"))
    return {name: rows[offset : offset + limit], "total": len(rows)}
