"""A provider of OpenID Connect on loopback whose ID tokens and claims a test chooses, honest by default."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID = "gateway"
KEY_ID = "k1"


class IdentityProvider:
    """`claims` are in the ID token, `userinfo` in the user info. The rest says how the token is made."""

    def __init__(self) -> None:
        self.key: Any = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.url = ""
        self.nonce = ""
        self.reset()

    def reset(self, **person: Any) -> None:
        """Be honest again, about a person."""
        self.person = {"sub": "7f3a", "email": "ana@acme.example", "email_verified": True} | person
        self.claims: dict[str, Any] = {}  # besides, or in the place of, the right ones
        self.userinfo: dict[str, Any] = {}
        self.signing_key, self.algorithm = self.key, "RS256"
        self.has_id_token = True

    def build_id_token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 60, "nonce": self.nonce}
        claims = {name: each for name, each in (claims | self.person | self.claims).items() if each is not ...}
        return jwt.encode(claims, self.signing_key, algorithm=self.algorithm, headers={"kid": KEY_ID})

    def answer(self, path: str, query: dict[str, str]) -> dict[str, Any] | str:
        """Return the JSON of an endpoint, or where the browser is sent."""
        if path == "/authorize":
            self.nonce = query.get("nonce", "")
            return f"{query['redirect_uri']}?{urlencode({'code': 'c', 'state': query['state']})}"
        if path == "/token":
            token = {"access_token": "t", "token_type": "Bearer", "expires_in": 60}
            return token | ({"id_token": self.build_id_token()} if self.has_id_token else {})
        if path == "/userinfo":
            return self.person | self.userinfo
        if path == "/jwks":
            public: dict[str, Any] = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
            return {"keys": [public | {"kid": KEY_ID, "alg": "RS256", "use": "sig"}]}
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/jwks",
        }


@contextmanager
def run_identity_provider() -> Iterator[IdentityProvider]:
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            answer = provider.answer(parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()})
            self.send_response(302 if isinstance(answer, str) else 200)
            if isinstance(answer, str):
                self.send_header("location", answer)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(b"" if isinstance(answer, str) else json.dumps(answer).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
