"""The request body of an operation as arguments: its properties, or the whole body as one."""

from dataclasses import dataclass, field
from typing import Any

from registry.imports.openapi.parameters import Argument, build_schema, set_example
from registry.imports.openapi.references import DanglingReference, Located, References
from registry.imports.openapi.requests import files, media_types
from registry.imports.openapi.requests.files import FILE_SCHEMA, FileKind
from registry.imports.openapi.schemas import SchemaConverter, merge_parts
from registry.jsonschema import fitting_values
from registry.request_mapping import FORM_TYPE, JSON_TYPE, MULTIPART_TYPE, STYLES

_MAX_PARTS = 30  # of allOf, followed
_OBJECT_ONLY = frozenset(
    ("type", "properties", "required", "allOf", "description", "title", "example", "examples", "additionalProperties")
)
_IGNORED = frozenset(("xml", "externalDocs", "deprecated", "default", "nullable", "minProperties", "$schema", "$id"))
_TEXT_KEYWORDS = ("enum", "minLength", "maxLength", "pattern", "description", "default")


@dataclass(slots=True)
class BodyPlan:
    """How a body is sent: its media type, and its arguments. `is_whole`: the only argument is the body itself.

    `members` are the parts of a whole form that are not sent as plain values. `additional` is the schema of arguments
    that the document does not name, None if there can be none. `is_text`: a text, although its media type is not one.
    `more_files`: the parts that the document does not name are files.
    """

    content_type: str
    arguments: list[Argument] = field(default_factory=list)
    is_whole: bool = False
    examples: list[Any] = field(default_factory=list)  # whole bodies
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    additional: dict[str, Any] | None = None
    is_text: bool = False
    more_files: bool = False
    remarks: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _ObjectParts:
    """The properties of an object schema and of the parts of its allOf, each with the addresses of their files."""

    properties: dict[str, list[Located]] = field(default_factory=dict)
    required: dict[str, None] = field(default_factory=dict)
    additional: Located | None = None  # the schema of properties that have no own one
    count: int = 0


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Plans the body of one operation. The names of the definitions that it refers to are added to `uses`."""

    references: References
    converter: SchemaConverter
    uses: set[str]

    def plan(self, body: Located) -> BodyPlan | None:
        """Return how the body is sent; None if there is none."""
        content = body.value.get("content") if isinstance(body.value, dict) else None
        if not isinstance(content, dict) or not content:
            return None
        media_type = media_types.choose_request_type(content)
        located = self.references.follow(content[media_type], body.url)
        media = located.value if isinstance(located.value, dict) else {}
        body, schema = Located(body.value, located.url), media.get("schema", {})
        is_required = body.value.get("required") is True
        plan = BodyPlan(
            _choose_sent_type(media_type), examples=_list_examples(media, schema, self.references, body.url)
        )
        if self._is_bytes(media_type, schema, body.url):
            plan.content_type = media_types.get_base(media_type)
            plan.is_whole, plan.arguments = True, [Argument("file", "body", dict(FILE_SCHEMA), is_required)]
            return plan
        is_object_type = media_types.is_json(media_type) or media_types.is_form(media_type)
        parts = self._find_properties(schema, body.url) if is_object_type else None
        if parts:
            self._plan_properties(plan, parts, media, is_required=is_required)
        if not plan.arguments or plan.is_whole:
            self._plan_whole(plan, media_type, media, body, is_required=is_required)
        return plan

    def split_query(self, parameter: Located) -> list[Located]:
        """Return a parameter for each property of a whole query (OpenAPI 3.2); empty if it is not a form."""
        content = parameter.value.get("content")
        form = next((each for each in content if media_types.get_base(each) == FORM_TYPE), "") if content else ""
        if not form:
            return []
        media, url = self.references.follow(content[form], parameter.url)
        encodings = media.get("encoding") if isinstance(media, dict) else None
        parts = self._find_properties(media.get("schema", {}), url) if isinstance(media, dict) else None
        if parts is None:
            return []
        return [
            Located(
                {"name": name, "in": "query", "schema": {"allOf": schemas} if len(schemas) > 1 else schemas[0]}
                | {"required": parameter.value.get("required") is True and name in parts.required}
                | _read_encoding(encodings.get(name) if isinstance(encodings, dict) else None),
                located[0].url,
            )
            for name, located in parts.properties.items()
            if (schemas := [each.value for each in located])
        ]

    def _plan_properties(
        self, plan: BodyPlan, parts: _ObjectParts, media: dict[str, Any], *, is_required: bool
    ) -> None:
        """Plan an argument for each property."""
        encodings = media["encoding"] if isinstance(media.get("encoding"), dict) else {}
        plan.arguments = [
            self._build_property(
                name,
                located,
                name in parts.required,
                plan,
                encodings.get(name),
            )
            for name, located in parts.properties.items()
            if not any(self.converter.is_read_only(each.value, each.url) for each in located)
        ]
        # All or nothing: an optional body whose properties are required stays one argument.
        plan.is_whole = bool(parts.required) and not is_required
        if parts.additional is not None and not plan.is_whole:
            plan.additional = self.converter.convert(parts.additional.value, parts.additional.url, self.uses)
            if self._has_more_files(plan, parts.additional):
                plan.more_files, plan.additional = True, dict(FILE_SCHEMA)

    def _has_more_files(self, plan: BodyPlan, additional: Located) -> bool:
        """Return whether the parts of a form that it does not name are files."""
        kind = files.find_file(additional.value, additional.url, self.references)
        return plan.content_type == MULTIPART_TYPE and bool(kind)

    def _is_bytes(self, media_type: str, schema: Any, url: str) -> bool:
        if media_types.is_form(media_type):
            return False
        if media_types.is_json(media_type):
            is_any = media_types.get_base(media_type) == "*/*"
            return is_any and files.is_binary_string(schema, url, self.references)
        is_text = media_types.is_text(media_type) or files.is_text_string(schema, url, self.references)
        return media_types.is_binary(media_type) or not is_text

    def _find_properties(self, schema: Any, url: str) -> _ObjectParts | None:
        """Return the properties of an object schema; None if it is more than a plain object."""
        parts = _ObjectParts()
        if not self._collect(schema, url, parts) or not parts.properties:
            return None
        for name in parts.required:  # required, and described nowhere: any value
            parts.properties.setdefault(name, [Located({}, url)])
        return parts

    def _collect(self, schema: Any, url: str, parts: _ObjectParts) -> bool:
        """Collect the properties of a schema. Return whether it is a plain object."""
        parts.count += 1
        if parts.count > _MAX_PARTS:
            return False
        try:
            value, url = self.references.follow(schema, url)
        except DanglingReference:
            return False
        if not isinstance(value, dict) or not _is_plain_object(value):
            return False
        for part in value.get("allOf", ()) if isinstance(value.get("allOf", ()), list) else ():
            if not self._collect(part, url, parts):
                return False
        properties, required = value.get("properties"), value.get("required")
        for name, each in properties.items() if isinstance(properties, dict) else ():
            parts.properties.setdefault(name, []).append(Located(each, url))
            if isinstance(each, dict) and each.get("required") is True:  # a flag of older drafts
                parts.required[name] = None
        listed = required if isinstance(required, list) else ()
        parts.required |= {name: None for name in listed if isinstance(name, str)}
        if value.get("additionalProperties") is True or isinstance(value.get("additionalProperties"), dict):
            parts.additional = Located(value["additionalProperties"], url)
        return True

    def _build_property(
        self, name: str, located: list[Located], is_required: bool, plan: BodyPlan, encoding: Any
    ) -> Argument:
        mapping: dict[str, Any] = {}
        if media_types.is_form(plan.content_type):
            mapping = _read_encoding(encoding)
        schema = merge_parts([self.converter.convert(each.value, each.url, self.uses) for each in located])
        if plan.content_type == MULTIPART_TYPE:
            types = encoding.get("contentType") if isinstance(encoding, dict) else None
            encoded = types if isinstance(types, str) else ""
            kinds = [files.find_file(each.value, each.url, self.references, encoded) for each in located]
            if kind := next(filter(None, kinds), FileKind.NONE):
                mapping = {"is_file": True} | {key: mapping[key] for key in ("content_type",) if key in mapping}
                schema = files.build_file_schema(kind, schema)
        plan.remarks += _tell_default(name, schema)
        argument = Argument(name, "property", schema, is_required, mapping)
        for each in located:
            set_example(argument, {}, each.value)
        return argument

    def _plan_whole(
        self, plan: BodyPlan, media_type: str, media: dict[str, Any], body: Located, *, is_required: bool
    ) -> None:
        """Plan one argument that is the whole body. `arguments` are its properties, as far as they are known."""
        schema, members = media.get("schema", {}), plan.arguments
        plan.is_whole, name = True, "body"
        if media_types.is_form(media_type):
            if not members:
                members = self._find_members(plan, schema, media, body.url)
            self._allow_more_files(plan, schema, body.url)
            has_parts = plan.more_files or any(each.mapping for each in members)
            plan.members = {each.wire_name: each.mapping for each in members if each.mapping}
            for each in members:
                each.name = each.wire_name
            # Converted as a whole, a file would be a text.
            converted = (
                build_schema(members) | {"additionalProperties": dict(FILE_SCHEMA) if plan.more_files else True}
                if has_parts
                else self.converter.convert(schema, body.url, self.uses)
            )
        elif media_types.is_json(media_type):
            converted = self.converter.convert(schema, body.url, self.uses)
        else:
            base = media_types.get_base(media_type)
            plan.is_text, name = not base.startswith("text/") and not base.endswith("xml"), "text"
            converted = {"type": "string"}
            if files.is_text_string(schema, body.url, self.references):
                own = self.converter.convert(self.references.follow(schema, body.url).value, body.url, self.uses)
                converted |= {key: own[key] for key in _TEXT_KEYWORDS if key in own}
        converted.pop("default", None)
        text = body.value.get("description")
        if isinstance(text, str) and text.strip():
            converted.setdefault("description", text.strip())
        plan.arguments = [Argument(name, "body", converted, is_required)]

    def _allow_more_files(self, plan: BodyPlan, schema: Any, url: str) -> None:
        try:
            value, url = self.references.follow(schema, url)
        except DanglingReference:
            return
        more = value.get("additionalProperties") if isinstance(value, dict) else None
        plan.more_files = isinstance(more, dict) and self._has_more_files(plan, Located(more, url))

    def _find_members(self, plan: BodyPlan, schema: Any, media: dict[str, Any], url: str) -> list[Argument]:
        """Return the properties of a form that is more than a plain object, if some of them are files.

        Those of all alternatives are put together, because the parts of a form have no place for alternatives.
        """
        found: dict[str, list[Located]] = {}
        stack, count = [Located(schema, url)], 0
        while stack and count < _MAX_PARTS:
            count += 1
            try:
                value, url = self.references.follow(*stack.pop())
            except DanglingReference:
                continue
            if isinstance(value, dict):
                for keyword in ("allOf", "anyOf", "oneOf"):
                    stack += [Located(part, url) for part in value.get(keyword, ()) if isinstance(part, dict)]
                properties = value.get("properties")
                for name, each in properties.items() if isinstance(properties, dict) else ():
                    found.setdefault(name, []).append(Located(each, url))
        encodings = media.get("encoding")
        encodings = encodings if isinstance(encodings, dict) else {}
        members = [
            self._build_property(name, located[:1], False, plan, encodings.get(name)) for name, located in found.items()
        ]
        return members if any(each.mapping.get("is_file") for each in members) else []


def _choose_sent_type(media_type: str) -> str:
    """Return the content type to send: JSON for any type, and no parameters but those that say what the type is."""
    base = media_types.get_base(media_type)
    return JSON_TYPE if base in ("*/*", "text/json") else media_type.partition(";")[0].strip()


def _is_plain_object(schema: dict[str, Any]) -> bool:
    if schema.get("type", "object") not in ("object", ["object"], ["object", "null"]):
        return False
    return all(key in _OBJECT_ONLY or key in _IGNORED or key.startswith("x-") for key in schema)


def _tell_default(name: str, schema: dict[str, Any]) -> list[str]:
    """Describe the default of a body's property in words. If sent in an update, it would overwrite the stored value.

    Return a remark if the default does not fit.
    """
    if "default" not in schema:
        return []
    remarks = fitting_values.drop_unfit_defaults({"properties": {name: schema}})
    default = schema.pop("default", None)
    if isinstance(default, str | int | float) and default != "":
        text = schema.get("description", "")
        end = "" if not text or text[-1] in ".!?" else "."
        schema["description"] = f"{text}{end} Default: {str(default)[:60]}.".strip()
    return remarks


def _read_encoding(encoding: Any) -> dict[str, Any]:
    if not isinstance(encoding, dict):
        return {}
    mapping: dict[str, Any] = {}
    content_type = encoding.get("contentType")
    if isinstance(content_type, str) and "/" in content_type and "," not in content_type:
        mapping["content_type"] = content_type
    if encoding.get("style") in STYLES["query"]:
        mapping["style"] = encoding["style"]
    if isinstance(encoding.get("explode"), bool):
        mapping["explode"] = encoding["explode"]
    return mapping


def _list_examples(media: dict[str, Any], schema: Any, references: References, url: str) -> list[Any]:
    found = [media["example"]] if "example" in media else []
    named = media.get("examples")
    for each in named.values() if isinstance(named, dict) else ():
        try:
            value = references.follow(each, url).value
        except DanglingReference:
            continue
        if isinstance(value, dict) and (key := next((key for key in ("dataValue", "value") if key in value), "")):
            found.append(value[key])
    if not found:
        try:
            value = references.follow(schema, url).value
        except DanglingReference:
            return []
        if isinstance(value, dict) and "example" in value:
            found.append(value["example"])
    return found[:3]
