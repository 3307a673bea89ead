"""The shop as an HTTP server of the standard library."""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from demo.shop.data import Row, Shop, ShopRefusal, find_row, list_page

DOCUMENT_PATH = "/openapi.json"
MAX_BODY = 100_000  # bytes

Answer = tuple[int, Any]
Action = Callable[["ShopRequest"], Answer]


class ShopRequest:
    """One request: the shop, the id in the path, the query, the headers and the body."""

    def __init__(self, shop: Shop, id: str, query: Mapping[str, str], headers: Mapping[str, str], body: Row) -> None:
        self.shop, self.id, self.query, self.headers, self.body = shop, id, query, headers, body

    def list_products(self) -> Answer:
        """Answer the products that match."""
        words = self.query.get("search", "").casefold().split()
        rows = [
            row
            for row in self.shop.products.values()
            if all(word in row["name"].casefold() for word in words)
            and self.query.get("category", row["category"]) == row["category"]
        ]
        return 200, list_page(sorted(rows, key=lambda row: row["name"]), "products", self.query)

    def list_customers(self) -> Answer:
        """Answer the customers that match."""
        search = self.query.get("search", "").casefold()
        rows = [row for row in self.shop.customers.values() if search in f"{row['name']} {row['email']}".casefold()]
        return 200, list_page(rows, "customers", self.query)

    def list_orders(self) -> Answer:
        """Answer the orders that match, newest first."""
        wanted = {name: self.query[name] for name in ("customer_id", "status") if name in self.query}
        rows = [row for row in self.shop.orders.values() if wanted.items() <= row.items()]
        return 200, list_page(rows[::-1], "orders", self.query)


ROUTES: list[tuple[str, str, Action]] = [
    ("GET", "/api/products", ShopRequest.list_products),
    ("GET", "/api/products/{id}", lambda call: (200, find_row(call.shop.products, call.id, "product"))),
    ("PATCH", "/api/products/{id}", lambda call: (200, call.shop.update_product(call.id, call.body))),
    ("GET", "/api/customers", ShopRequest.list_customers),
    ("GET", "/api/orders", ShopRequest.list_orders),
    ("POST", "/api/orders", lambda call: (201, call.shop.create_order(call.body, key=call.headers["idempotency-key"]))),
    ("GET", "/api/orders/{id}", lambda call: (200, find_row(call.shop.orders, call.id, "order"))),
    ("POST", "/api/orders/{id}/cancel", lambda call: (200, call.shop.cancel_order(call.id))),
    ("GET", "/api/orders/{id}/invoice", lambda call: (200, call.shop.write_invoice(call.id).encode())),
]
_PATTERNS = [
    (method, re.compile(path.replace("{id}", r"(?P<id>[\w-]{1,60})")), action) for method, path, action in ROUTES
]


def build_server(host: str, port: int, *, token: str) -> ThreadingHTTPServer:
    """Return a shop's server. Its operations need the token as a bearer token."""
    shop = Shop()

    class Handler(_Handler):
        pass

    Handler.shop, Handler.token = shop, token
    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    return server


@lru_cache(maxsize=1)
def load_document() -> dict[str, Any]:
    """Return the shop's OpenAPI document."""
    document: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("openapi.yaml").read_text())
    return document


class _Handler(BaseHTTPRequestHandler):
    shop: Shop
    token: str
    protocol_version = "HTTP/1.1"
    # Head and body in one packet: in two, the second would wait for the first one's acknowledgement.
    wbufsize = -1

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the gateway records the calls."""

    def _answer(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("content-length") or 0), MAX_BODY))
        if self.path == DOCUMENT_PATH:
            self._send(200, load_document())
            return
        try:
            status, content = self._run(body)
        except ShopRefusal as refusal:
            errors = [{"pointer": f"#/{name}", "detail": text} for name, text in refusal.errors.items()]
            self._send(refusal.status, {"title": refusal.title, "status": refusal.status, "errors": errors})
        else:
            self._send(status, content)

    def _run(self, body: bytes) -> Answer:
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        if not compare_digest(given.encode(), self.token.encode()):
            raise ShopRefusal(401, "Send the shop's token as a bearer token.")
        parts = urlsplit(self.path)
        for method, pattern, action in _PATTERNS:
            if method == self.command and (match := pattern.fullmatch(parts.path)):
                headers = {"idempotency-key": self.headers.get("idempotency-key", "")}
                call = ShopRequest(
                    self.shop, match.groupdict().get("id", ""), dict(parse_qsl(parts.query)), headers, _parse(body)
                )
                try:
                    return action(call)
                except (KeyError, TypeError, ValueError):
                    raise ShopRefusal(400, "The request does not match the document.") from None
        raise ShopRefusal(404, "There is no such page.")

    def _send(self, status: int, content: Any) -> None:
        is_file = isinstance(content, bytes)
        body = content if is_file else json.dumps(content).encode()
        kind = "application/octet-stream" if is_file else "application/json"
        self.send_response(status)
        self.send_header("content-type", kind if status < 400 else "application/problem+json")
        if is_file:
            self.send_header("content-disposition", 'attachment; filename="invoice.csv"')
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _parse(body: bytes) -> Row:
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ShopRefusal(400, "The body is not a JSON object.")
    return value
