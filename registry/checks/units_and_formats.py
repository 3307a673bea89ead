"""Check that the meaning of values is stated: the unit of a number, the direction of a scale, the format of a date.

The type alone does not say it, and a wrong guess causes no error: 5 for the top priority, minutes for seconds, April 3
for March 4.
"""

import re
from collections.abc import Iterator

from registry.checks import text_locations
from registry.checks.finding import CheckRule, Finding
from registry.checks.text_locations import CheckedArgument, CheckedOp
from registry.jsonschema.dialect import Schema
from registry.text import tool_name_words

UNIT = CheckRule(
    "number_without_unit",
    "A number whose name, description and bounds give neither its unit nor its range.",
    "State the unit or range in the description, or set a minimum and a maximum.",
    is_hint_if_imported=True,
)
DIRECTION = CheckRule(
    "priority_without_direction",
    "A numeric priority, urgency, severity or importance that does not say which end is highest.",
    "State it in the description, for example “1 is the most urgent”.",
)
FORMAT = CheckRule(
    "date_without_format",
    "A date or time sent as text, without a format in the schema or the description.",
    'Add "format": "date" or "date-time", or state the format in the description.',
    is_hint_if_imported=True,
)
RULES = (UNIT, DIRECTION, FORMAT)


def _split_to_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NUMBER_TYPES = _split_to_set("integer number")
_UNIT_WORDS = _split_to_set(
    """
    ms millis millisecond milliseconds second seconds sec secs minute minutes mins hour hours hrs day days week weeks
    month months quarter quarters year years yrs epoch unix timestamp
    bytes kb mb gb tb kib mib px pixel pixels pt dpi tokens char chars character characters words lines
    percent percentage pct bps bp fraction ratio factor multiplier ppm points level levels stars degree degrees radians
    cents dollar dollars usd eur euros gbp jpy rupees currency
    nm mm cm km kms mile miles meter meters metre metres inch inches ft feet yards nautical acres hectares
    millimeter millimeters millimetre millimetres centimeter centimeters centimetre centimetres
    kilometer kilometers kilometre kilometres
    kg kgs kilogram kilograms gram grams milligrams lb lbs oz ounces pound pounds tons tonnes
    ml milliliters liter liters litre litres gallons cups
    celsius fahrenheit kelvin hz khz mhz watts kw kwh volts amps newton newtons pascals joules moles calories mph kmh
    rows items results records pages entries steps times nights guests people adults children persons cores
    """
)
# Numbers without a unit: counts, positions and identifiers.
_UNITLESS_WORDS = _split_to_set(
    """
    id ids count counts limit offset page index idx number num no total quantity qty position order depth version
    port code zip phone lat latitude lng lon long longitude skip take top k n seed attempts retries revision x y z row
    column line generation sequence serial age
    """
)
_COUNT_WORDS = _split_to_set("max min num number total top first last n")  # counts if a plural follows: max_results
_UNIT_OR_RANGE = re.compile(
    r"""(?xi)[%$€£¥°]
      |\d\s*(?:to|through|and|or|-|–|—|\.\.+)\s*-?\d           # a range
      |\b\d+\s?(?:->|=|:|means\b|is\b|\()                      # meanings of single values
      |\b(?:between|at\smost|at\sleast|up\sto|(?:max|min)imum\sof|scale)\b
      |\b(?:number\sof|how\s(?:many|often)|count\sof|whole\snumber|(?<!a\s)(?<!an\s)(?<!the\s)number)\b
      |\b(?:id\sof|ids?|identifier|(?:zero|0|1)-based)\b
      |\(in\s|\bin\s(?:parts\b|\S+/\S|\w+\s\(|\w{1,3}(?:[/^]\S+)?\s*(?:[.,;)]|$))  # in g/mol, in decibels (dB), in N
    """
)
_SCALE_WORDS = _split_to_set("priority urgency severity importance")
_DIRECTION_HINT = re.compile(
    r"""(?xi)\b(?:most|least|high\w*|low\w*|top|urgent|critical|severe|important|first|last|normal|minor)\b[^.;]{0,30}\d
      |\d[^.;]{0,30}\b(?:most|least|high\w*|low\w*|top|urgent|critical|severe|important|first|last|minor)\b
      |\b(?:higher|lower|larger|smaller|bigger|greater)\b[^.;]{0,40}
        \b(?:more|less|most|least|first|urgent|important|severe)\b"""
)
_DATE_WORDS = _split_to_set("date birthday dob")
_DATE_TIME_WORDS = _split_to_set("datetime timestamp deadline")
_TIME_SUFFIXES = _split_to_set("at time since until")  # after another word: starts_at, end_time
_BOUNDED_WORDS, _BOUND_WORDS = _split_to_set("date time"), _split_to_set("min max from to start end begin after before")
_FORMAT_HINT = re.compile(
    r"""(?xi)\b(?:iso|ISO[ -]?8601|RFC[ -]?3339|YYYY|HH:mm|MM/DD|DD/MM|epoch|unix|any\sform|natural\slanguage
      |format(?:ted)?|date-times?)\b
      |\d{4}-\d{2}|\d{1,2}:\d{2}|\b(?:such\sas|like|e\.g\.?|for\sexample)[,:]?\s[^.]{0,20}(?:\d|tomorrow|today|now)"""
)

_DATE_MENTION = re.compile(r"(?i)\b(?:dates?|times?)\b")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def check(reading: CheckedOp) -> Iterator[Finding]:
    """Yield a finding for each argument, at every level, whose meaning a model would have to guess."""
    op, root = reading.op, reading.schema
    copy = _split_sentences(reading)
    for argument in reading.arguments:
        types = argument.collect_types(root)
        field = f"{argument.field}/description"
        if types & _NUMBER_TYPES and (scale := _SCALE_WORDS.intersection(tool_name_words.split_name(argument.name))):
            if not _has_direction(argument, scale, copy):
                yield DIRECTION.make_finding(
                    op, field, f"The copy does not say which end of {argument.name} is highest."
                )
        elif types & _NUMBER_TYPES and not _has_unit(argument, root):
            yield UNIT.make_finding(op, field, f"The copy does not give the unit or range of {argument.name}.")
        elif (
            "string" in types
            and (suggested_format := _guess_date_format(argument))
            and not _has_format(argument, root, copy)
        ):
            message = f"The copy does not give the format of {argument.name}."
            yield FORMAT.make_finding(
                op, argument.field, message, f'Add "format": "{suggested_format}", or describe the format.'
            )


def _split_sentences(reading: CheckedOp) -> list[str]:
    """Return the sentences of an op's text outside its schema."""
    schema = f"{text_locations.SCHEMA}/"
    texts = (text for field, text in reading.prose if not field.startswith(schema))
    return [sentence for text in texts for sentence in _SENTENCE.split(text)]


def _has_direction(argument: CheckedArgument, scale: frozenset[str], copy: list[str]) -> bool:
    scale_sentences = [sentence for sentence in copy if any(word in sentence.lower() for word in scale)]
    return any(map(_DIRECTION_HINT.search, [argument.description, *scale_sentences]))


def _has_unit(argument: CheckedArgument, root: Schema) -> bool:
    name = tool_name_words.split_name(argument.name)
    if (
        not name
        or _UNIT_WORDS.intersection(name)
        or name[-1] in _UNITLESS_WORDS
        or (name[0] in _COUNT_WORDS and name[-1].endswith("s"))
    ):
        return True
    description = argument.description
    if _UNIT_OR_RANGE.search(description) or _UNIT_WORDS.intersection(tool_name_words.split_name(description)):
        return True
    return all(
        _has_bounds(form) for form in argument.list_value_schemas(root) if _NUMBER_TYPES.intersection(_list_types(form))
    )


def _list_types(form: Schema) -> list[str]:
    types = form.get("type", [])
    return [types] if isinstance(types, str) else types


def _has_bounds(form: Schema) -> bool:
    if "enum" in form or "const" in form:
        return True
    return bool({"minimum", "exclusiveMinimum"} & form.keys()) and bool({"maximum", "exclusiveMaximum"} & form.keys())


def _guess_date_format(argument: CheckedArgument) -> str:
    """Return the format that an argument's name suggests; "" if it is not a date or time."""
    name = tool_name_words.split_name(argument.name)
    if not name or "zone" in name or "format" in name:
        return ""
    if name[-1] in _DATE_WORDS:
        return "date"
    is_date_time = name[-1] in _DATE_TIME_WORDS or (
        len(name) > 1 and (name[-1] in _TIME_SUFFIXES or (name[0] in _BOUNDED_WORDS and name[-1] in _BOUND_WORDS))
    )
    return "date-time" if is_date_time else ""


def _has_format(argument: CheckedArgument, root: Schema, copy: list[str]) -> bool:
    string_schemas = [form for form in argument.list_value_schemas(root) if "string" in _list_types(form)]
    if all({"format", "pattern", "enum", "const"} & form.keys() for form in string_schemas):
        return True
    date_sentences = [sentence for sentence in copy if _DATE_MENTION.search(sentence)]
    return any(map(_FORMAT_HINT.search, [argument.description, *date_sentences]))
