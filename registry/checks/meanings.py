"""Check that the meaning of values is stated: the unit of a number, the direction of a scale, the format of a date.

The type alone does not say it, and a wrong guess causes no error: 5 for the top priority, minutes for seconds, April 3
for March 4.
"""

import re
from collections.abc import Iterator
from typing import Any

from registry.checks import places
from registry.checks.finding import Finding, Rule
from registry.checks.places import Argument, Reading
from registry.imports import words

UNIT = Rule(
    "number_without_unit",
    "A number whose name, description and bounds give neither its unit nor its range.",
    "State the unit or range in the description, or set a minimum and a maximum.",
)
DIRECTION = Rule(
    "priority_without_direction",
    "A numeric priority, urgency, severity or importance that does not say which end is highest.",
    "State it in the description, for example “1 is the most urgent”.",
)
FORMAT = Rule(
    "date_without_format",
    "A date or time sent as text, without a format in the schema or the description.",
    'Add "format": "date" or "date-time", or state the format in the description.',
)
RULES = (UNIT, DIRECTION, FORMAT)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NUMBERS = _set("integer number")
_UNITS = _set(
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
_UNITLESS = _set(
    """
    id ids count counts limit offset page index idx number num no total quantity qty position order depth version
    port code zip phone lat latitude lng lon long longitude skip take top k n seed attempts retries revision x y z row
    column line generation sequence serial age
    """
)
_COUNTS = _set("max min num number total top first last n")  # counts if a plural follows: max_results
_SAID = re.compile(
    r"""(?xi)[%$€£¥°]
      |\d\s*(?:to|through|and|or|-|–|—|\.\.+)\s*-?\d           # a range
      |\b\d+\s?(?:->|=|:|means\b|is\b|\()                      # meanings of single values
      |\b(?:between|at\smost|at\sleast|up\sto|(?:max|min)imum\sof|scale)\b
      |\b(?:number\sof|how\s(?:many|often)|count\sof|whole\snumber|(?<!a\s)(?<!an\s)(?<!the\s)number)\b
      |\b(?:id\sof|ids?|identifier|(?:zero|0|1)-based)\b
      |\(in\s|\bin\s(?:parts\b|\S+/\S|\w+\s\(|\w{1,3}(?:[/^]\S+)?\s*(?:[.,;)]|$))  # in g/mol, in decibels (dB), in N
    """
)
_SCALES = _set("priority urgency severity importance")
_DIRECTION = re.compile(
    r"""(?xi)\b(?:most|least|high\w*|low\w*|top|urgent|critical|severe|important|first|last|normal|minor)\b[^.;]{0,30}\d
      |\d[^.;]{0,30}\b(?:most|least|high\w*|low\w*|top|urgent|critical|severe|important|first|last|minor)\b
      |\b(?:higher|lower|larger|smaller|bigger|greater)\b[^.;]{0,40}
        \b(?:more|less|most|least|first|urgent|important|severe)\b"""
)
_DAYS = _set("date birthday dob")
_DATES = _set("datetime timestamp deadline")
_MOMENTS = _set("at time since until")  # after another word: starts_at, end_time
_BOUNDED, _BOUNDS = _set("date time"), _set("min max from to start end begin after before")
_WRITTEN = re.compile(
    r"""(?xi)\b(?:iso|ISO[ -]?8601|RFC[ -]?3339|YYYY|HH:mm|MM/DD|DD/MM|epoch|unix|any\sform|natural\slanguage
      |format(?:ted)?|date-times?)\b
      |\d{4}-\d{2}|\d{1,2}:\d{2}|\b(?:such\sas|like|e\.g\.?|for\sexample)[,:]?\s[^.]{0,20}(?:\d|tomorrow|today|now)"""
)

_OF_DATES = re.compile(r"(?i)\b(?:dates?|times?)\b")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def check(reading: Reading) -> Iterator[Finding]:
    """Yield a finding for each argument, at every level, whose meaning a model would have to guess."""
    op, root = reading.op, reading.schema
    copy = _sentences(reading)
    for argument in reading.arguments:
        types = argument.types(root)
        field = f"{argument.field}/description"
        if types & _NUMBERS and (scale := _SCALES.intersection(words.split(argument.name))):
            if not _says_direction(argument, scale, copy):
                yield DIRECTION.found(op, field, f"The copy does not say which end of {argument.name} is highest.")
        elif types & _NUMBERS and not _says_unit(argument, root):
            yield UNIT.found(op, field, f"The copy does not give the unit or range of {argument.name}.")
        elif "string" in types and (form := _moment(argument)) and not _says_form(argument, root, copy):
            message = f"The copy does not give the format of {argument.name}."
            yield FORMAT.found(op, argument.field, message, f'Add "format": "{form}", or describe the format.')


def _sentences(reading: Reading) -> list[str]:
    """Return the sentences of an op's text outside its schema."""
    schema = f"{places.SCHEMA}/"
    texts = (text for field, text in reading.prose if not field.startswith(schema))
    return [sentence for text in texts for sentence in _SENTENCE.split(text)]


def _says_direction(argument: Argument, scale: frozenset[str], copy: list[str]) -> bool:
    told = [sentence for sentence in copy if any(word in sentence.lower() for word in scale)]
    return any(map(_DIRECTION.search, [argument.description, *told]))


def _says_unit(argument: Argument, root: dict[str, Any]) -> bool:
    name = words.split(argument.name)
    if (
        not name
        or _UNITS.intersection(name)
        or name[-1] in _UNITLESS
        or (name[0] in _COUNTS and name[-1].endswith("s"))
    ):
        return True
    said = argument.description
    if _SAID.search(said) or _UNITS.intersection(words.split(said)):
        return True
    return all(_is_bounded(form) for form in argument.forms(root) if _NUMBERS.intersection(_types(form)))


def _types(form: dict[str, Any]) -> list[str]:
    said = form.get("type", [])
    return [said] if isinstance(said, str) else said


def _is_bounded(form: dict[str, Any]) -> bool:
    if "enum" in form or "const" in form:
        return True
    return bool({"minimum", "exclusiveMinimum"} & form.keys()) and bool({"maximum", "exclusiveMaximum"} & form.keys())


def _moment(argument: Argument) -> str:
    """Return the format that an argument's name suggests; "" if it is no date or time."""
    name = words.split(argument.name)
    if not name or "zone" in name or "format" in name:
        return ""
    if name[-1] in _DAYS:
        return "date"
    named = name[-1] in _DATES or (
        len(name) > 1 and (name[-1] in _MOMENTS or (name[0] in _BOUNDED and name[-1] in _BOUNDS))
    )
    return "date-time" if named else ""


def _says_form(argument: Argument, root: dict[str, Any], copy: list[str]) -> bool:
    texts = [form for form in argument.forms(root) if "string" in _types(form)]
    if all({"format", "pattern", "enum", "const"} & form.keys() for form in texts):
        return True
    of_dates = [sentence for sentence in copy if _OF_DATES.search(sentence)]
    return any(map(_WRITTEN.search, [argument.description, *of_dates]))
