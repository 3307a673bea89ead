"""Checks of prose: names of arguments and ops that do not exist, and policies that contradict.

A text names arguments, fields of results and values alike. So a name is reported only if the text says to send it, or
if it differs from an argument by a letter or two. Another spelling of an argument, such as due_at for dueAt, is not a
typo: services write the names of their results like this.
"""

import re
from collections.abc import Iterable, Iterator

from core.text import english
from registry.checks import text_locations
from registry.checks.context import CheckContext
from registry.checks.finding import CheckRule, Finding
from registry.checks.text_locations import CheckedOp
from registry.jsonschema import dialect
from registry.models import Op
from registry.search import tokenizer
from registry.snapshot.entries import OpEntry

ARGUMENT = CheckRule(
    "argument_unknown",
    "Text that says to send an argument that the schema does not have.",
    "Use an argument of the schema, or add this one to it.",
    is_hint_if_imported=True,
)
OP = CheckRule("op_unknown", "Text that names an op that does not exist or is retired.", "Name an active op.")
NAME_RULES = (ARGUMENT, OP)
_NAME = r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+"
_WHOLE_NAME = rf"(?<![\w./@:$-])`?(?P<name>{_NAME})`?(?![\w/@(-]|\.\w)"
_WORD = re.compile(_WHOLE_NAME)
_SENT_ARGUMENT = re.compile(
    rf"""(?xi)\b(?:send|set|pass|provide|supply|specify|fill\sin|omit|leave\sout|narrow\sby)\s
      (?:(?:the|a|an|its|only|both|either|also|always)\s)?(?-i:{_WHOLE_NAME})(?!\sas\b)
      |\b(?:argument|parameter)\s(?-i:{_WHOLE_NAME.replace("?P<name>", "?P<after>")})
      |(?-i:{_WHOLE_NAME.replace("?P<name>", "?P<before>")})\s(?:argument|parameter)\b"""
)
_OP_PATH = re.compile(r"(?<![\w./@:-])[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+(?![\w/@:(-])")
_ANY_WORD = re.compile(r"\w+")
_DOT_WITHIN = re.compile(r"\.[a-z]")
_DOMAIN_ENDINGS = frozenset("com org net io dev app".split())
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
MAX_SUGGESTIONS = 100  # unknown names of one op, each compared with all arguments or with all ops of its group
_TYPO_CUTOFF = 0.9  # similarity: task_ids is this close to task_id, started_at to start_at is not
CONTRADICTION = CheckRule(
    "do_and_dont_contradict",
    "A do and a dont about the same action that do not say when each applies.",
    "Delete one of the two, or say when each applies.",
)
POLICY_RULES = (CONTRADICTION,)
_MIN_SHARED = 0.8  # share of the words of two rules that they have in common
_CLAUSE = re.compile(r"[;:,.—–]")
_NEGATION = re.compile(r"^\W*(?:never|do\s+not|don['’]t|avoid|must\s+not|not|no)\s+", re.IGNORECASE)

# A condition limits a rule, so that the other one can apply in all other cases.
_CONDITION = re.compile(r"\b(?:not|no|only|unless|except|without|until|more than|less than|n['’]t)\b", re.IGNORECASE)
_FILLER_WORDS = frozenset(
    """
    a an the of to in on at by for with it its this that these those and or as be is are any all each every
    always please just own their your
""".split()
)


def check_names(reading: CheckedOp, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each unknown name in the copy of an op, once per text."""
    known_names = reading.names | _collect_values(reading)
    suggester = _NameSuggester()
    for field, text in reading.prose:
        findings: dict[str, Finding] = {}
        # Skip texts early: only argument names with an underscore and paths with a dot are checked.
        for sentence in _SENTENCE.split(text) if "_" in text or _DOT_WITHIN.search(text) else ():
            words = (
                {match["name"] for match in _WORD.finditer(sentence)} - known_names if "_" in sentence else set[str]()
            )
            for finding in (
                *(_check_arguments(reading, field, sentence, words, context, suggester) if words else ()),
                *_check_op_paths(reading.op, field, sentence, context, suggester),
            ):
                findings.setdefault(finding.message, finding)
        yield from findings.values()


class _NameSuggester:
    """Suggests the name that was probably meant, and remembers the result.

    Imported text may have any number of names. After the first MAX_SUGGESTIONS names of an op, nothing is suggested.
    """

    def __init__(self) -> None:
        self._suggestions: dict[tuple[str, float], str] = {}

    def suggest(self, name: str, among: Iterable[str], cutoff: float = 0.6) -> str:
        """Return the most similar name, or "" if none reaches `cutoff`."""
        if (name, cutoff) not in self._suggestions:
            if len(self._suggestions) >= MAX_SUGGESTIONS:
                return ""
            self._suggestions[name, cutoff] = next(iter(english.find_similar(name, among, limit=1, cutoff=cutoff)), "")
        return self._suggestions[name, cutoff]


def _check_arguments(
    reading: CheckedOp, field: str, sentence: str, words: set[str], context: CheckContext, suggester: _NameSuggester
) -> Iterator[Finding]:
    """Yield a finding for each word that was meant as an argument of this op and is not one."""
    mentioned_ops = context.iter_ops_named(dict.fromkeys(_OP_PATH.findall(sentence)))
    other_arguments = frozenset[str]().union(*map(context.get_argument_names, mentioned_ops))
    sent_names = {match[match.lastgroup or 0] for match in _SENT_ARGUMENT.finditer(sentence)}
    own_names = [argument.name for argument in reading.arguments]
    for word in sorted(words - other_arguments):
        suggestion = suggester.suggest(word, own_names, 0.6 if word in sent_names else _TYPO_CUTOFF)
        is_typo = bool(suggestion) and tokenizer.normalise_name(suggestion) != tokenizer.normalise_name(word)
        if word in sent_names or (is_typo and not context.is_known_name(word)):
            corrected = _replace_word(sentence, word, suggestion).strip() if suggestion else ""
            message = f"{reading.op} has no argument {word}."
            yield ARGUMENT.make_finding(reading.op, field, message, f"Did you mean: {corrected}" if corrected else "")


def _replace_word(text: str, word: str, replacement: str) -> str:
    return _ANY_WORD.sub(lambda match: replacement if match[0] == word else match[0], text)


def _check_op_paths(
    op: str, field: str, sentence: str, context: CheckContext, suggester: _NameSuggester
) -> Iterator[Finding]:
    for path in dict.fromkeys(_OP_PATH.findall(sentence)) if _DOT_WITHIN.search(sentence) else ():
        if path == op or path.partition(".")[0] not in context.top_level_names or path in context.groups:
            continue
        if path.rpartition(".")[2] in _DOMAIN_ENDINGS and path not in context.names:
            continue  # the address of the service
        mentioned_op = next(context.iter_ops_named([path]), None)
        if mentioned_op is None:
            suggestion = suggester.suggest(path, context.list_siblings(path))
            yield OP.make_finding(
                op, field, f"There is no op {path}.", f"Did you mean {suggestion}?" if suggestion else ""
            )
        elif mentioned_op.get("status") == Op.Status.RETIRED:
            successor = mentioned_op.get("successor", "")
            yield OP.make_finding(
                op, field, f"{path} is retired.", f"Its successor is {successor}." if successor else ""
            )


def _collect_values(reading: CheckedOp) -> frozenset[str]:
    """Return the strings that a schema lists as values of any argument."""
    values: set[str] = set()
    for part, _ in reading.subschemas:
        aliases = part.get(dialect.VALUE_ALIASES)
        candidates = [part.get("const"), part.get("default"), *part.get("enum", ())]
        candidates += aliases if isinstance(aliases, dict) else ()
        values |= {value for value in candidates if isinstance(value, str)}
    return frozenset(values)


def check_policies(entry: OpEntry) -> Iterator[Finding]:
    """Yield a finding for each dont that forbids what a do asks for."""
    dos = list(text_locations.iter_policy_rules(entry, "do"))
    for field, dont in text_locations.iter_policy_rules(entry, "dont"):
        for other, do in dos:
            if _is_contradiction(do, dont):
                yield CONTRADICTION.make_finding(entry["op"], field, f"This rule forbids what {other} asks for: “{do}”")


def _is_contradiction(do: str, dont: str) -> bool:
    """Return whether `dont` negates `do`: the same verb and nearly the same words, with no condition in either."""
    forbidden = _NEGATION.sub("", dont, count=1)
    do_clause, dont_clause = _CLAUSE.split(do)[0], _CLAUSE.split(forbidden)[0]
    if _CONDITION.search(do_clause) or _CONDITION.search(dont_clause):
        return False
    do_words, dont_words = _stem_words(do_clause), _stem_words(dont_clause)
    if (
        not do_words
        or not dont_words
        or do_words[0] != dont_words[0]
        or min(len(set(do_words)), len(set(dont_words))) < 2
    ):
        return False
    shared, all_words = set(do_words) & set(dont_words), set(do_words) | set(dont_words)
    return shared in (set(do_words), set(dont_words)) or len(shared) / len(all_words) >= _MIN_SHARED


def _stem_words(text: str) -> list[str]:
    return [
        tokenizer.stem(word) or word
        for word in tokenizer.split_words(text)
        if word not in _FILLER_WORDS and word != tokenizer.BREAK
    ]
