"""What media types hold: JSON, a form, text that a model can write, or bytes. And which one a request accepts."""

from collections.abc import Iterable

from registry.request_mapping import FORM_TYPE, JSON_TYPE, MULTIPART_TYPE

MAX_ACCEPT = 400  # characters of an Accept header
_TEXT_NAMES = frozenset(
    """
    yaml x-yaml vnd.yaml sql graphql x-ndjson ndjson jsonl x-jsonl x-jsonlines jsonlines json-lines json-seq
    javascript x-javascript ecmascript typescript jwt jose toml x-toml xml x-sh x-shellscript x-httpd-php x-latex
    x-tex sparql-query sparql-update n-triples n-quads trig csv x-csv x-pem-file
    pem-certificate-chain x-subrip cql x-python x-perl markdown
    """.split()
)
_TEXT_ENDS = ("+xml", "+yaml", "+text", "+json-seq", "+jsonl")
_BINARY_NAMES = frozenset("pdf zip gzip x-gzip x-tar x-bzip2 x-7z-compressed msword vnd.ms-excel wasm".split())
_BINARY_PREFIXES = ("image/", "audio/", "video/", "font/")


def get_base(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_json(media_type: str) -> bool:
    """Return whether a media type is JSON. `*/*` is read as JSON."""
    base = get_base(media_type)
    return base in (JSON_TYPE, "text/json", "application/x-json", "*/*") or base.endswith("+json")


def is_form(media_type: str) -> bool:
    """Return whether a media type has a part for each property of an object."""
    return get_base(media_type) in (FORM_TYPE, MULTIPART_TYPE)


def is_text(media_type: str) -> bool:
    """Return whether a media type is text, which a model can write."""
    base = get_base(media_type)
    if is_binary(base):
        return False
    return base.startswith("text/") or base.endswith(_TEXT_ENDS) or base.partition("/")[2] in _TEXT_NAMES


def is_binary(media_type: str) -> bool:
    """Return whether a media type is never text, such as pictures and archives."""
    base = get_base(media_type)
    if base.startswith(_BINARY_PREFIXES):
        return not base.endswith("+xml")
    name = base.partition("/")[2]
    return name in _BINARY_NAMES or name.startswith("vnd.openxmlformats")


def choose_request_type(media_types: Iterable[str]) -> str:
    """Return the type that a model can fill in best: JSON, then forms, then text, then bytes."""
    order = (JSON_TYPE, FORM_TYPE, MULTIPART_TYPE)

    def rank(media_type: str) -> int:
        base = get_base(media_type)
        if base in order:
            return order.index(base) * 2
        if is_json(base):
            return 1
        return 6 if base.startswith("text/") else 7 if base.endswith("xml") else 8 if is_text(base) else 9

    return min(media_types, key=rank)


def build_accept(media_types: Iterable[str]) -> str:
    """Return the Accept header for the types that an operation answers: JSON if it can, else its own types.

    Own types are followed by any other with a low weight, because errors often have another type.
    """
    names = list(dict.fromkeys(filter(None, map(_strip_charset, media_types))))
    bases = [get_base(name) for name in names]
    if not names or JSON_TYPE in bases or "*/*" in bases or "application/*" in bases:
        return JSON_TYPE
    own = sorted(names, key=lambda name: not is_json(name))
    if any(map(is_json, own)):
        return f"{own[0]}, {JSON_TYPE};q=0.9"[:MAX_ACCEPT]
    listed = ""
    for name in own:
        if len(listed) + len(name) + 20 > MAX_ACCEPT:
            break
        listed += f"{name}, "
    return f"{listed}*/*;q=0.1"


def _strip_charset(media_type: str) -> str:
    """Return a media type without a charset or a weight; empty if it is not one."""
    base, *parameters = (part.strip() for part in media_type.split(";"))
    if "/" not in base or not base.isascii() or any(letter.isspace() or letter == "," for letter in base):
        return ""
    kept = [each for each in parameters if not each.lower().startswith(("charset", "q=")) and each.isprintable()]
    return "; ".join([base, *(each for each in kept if each and each.isascii() and "," not in each)])
