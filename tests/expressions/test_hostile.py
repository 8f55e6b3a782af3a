"""Texts that nobody should write: each is a tree or one sentence, and runs nothing."""

from __future__ import annotations

import builtins
import importlib
import json
import random
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.definition import arguments
from slidefold.definition.expressions import Call, Column, Literal, parse
from slidefold.definition.expressions.nodes import DEEPEST, SYMBOLS
from slidefold.errors import DefinitionError, PipelineError, SlidefoldError
from slidefold.pipeline import run_pipeline
from tests.support.for_each import for_each

ONE = ("negate", "not", "abs", "log", "is_null")
PAYLOADS = (
    "__import__('os').system('true')", "().__class__.__bases__[0].__subclasses__()",
    "open('/etc/x')", "eval('1')", "exec('1')", "compile('1', '', 'eval')", "getattr(x, 'y')",
    "globals()", "x.y", "x.y.z", "x()", "x.y()", "x[0]", "x[0:1]", "x[...]", "...", "lambda: 1",
    "lambda x: x", "[x for x in y]", "{x for x in y}", "{x: y for x in y}", "(x for x in y)",
    "f'{x}'", "f'{x!r:>{y}}'", "f''", "x := 1", "(x := 1)", "x if y else z", "await x", "yield x",
    "(yield)", "(yield from x)", "*x", "**x", "[*x]", "{**x}", "f(*x)", "abs(*x)", "abs(**x)",
    "abs(x, y)", "abs()", "abs(x=1)", "cast(x)", "cast(x, y)", "cast(x, 'int')", "cast(x, 5)",
    "cast('int64', x)", "col(x)", "col()", "col('a', 'b')", "col(b'a')", "date('no')",
    "datetime('2020-13-01')", "datetime(2020)", "duration('1mo')", "duration('99999999999d')",
    "duration('9" + "9" * 30 + "us')", "duration('')", "decimal('x')", "float('x')", "float(x)",
    "1j", "2 + 1j", "x ** 2", "x @ y", "x << 1", "x >> 1", "x ^ y", "x = 1", "x == 1 = y", "x; y",
    "x\ny", "import os", "from os import *", "def f(): pass", "class A: pass", "del x",
    "assert x", "raise x", "return x", "global x", "pass", "print(1)", "x,", "x, y", "()", "[]",
    "[x]", "{}", "{x}", "{x: y}", "{1, 2}", "x == None", "None != x", "x is y", "x is 3",
    "x is not y", "x in y", "x in {1}", "x in [y]", "x in [None]", "x in 'abc'", "x not in y",
    "x in [[1]]", "x in [1, *y]", "x < y in [1]", "1" * 5000, "9" * 20, "-9223372036854775809",
    "9223372036854775808", "0x" + "f" * 20, "0x" + "f" * 5000, "x[0x" + "f" * 5000 + "]", "1e999",
    "-1e999", "1e-999", "0o777", "0b11", "1__0", "0777", "1_", "'", '"', "'''", "'a", "b'é'",
    "'\\ud800'", "'\\x'", "'\\N{DIGIT ONE}'", "'\\N{no such}'", "u'a'", "rb'\\'", "br''", "\\",
    "\\\n", "#", "# x", "$x", "x?", "x!", "`x`", "x\0", "\0", "'\0'", "\x01", "\x0c", "\ufeffx",
    "\u2028", "x\u2028y", "ﬁ", "x\u0301", "\U0001d431", "\uff11 + \uff11", "\u202ex", "\ud800",
    "x\ud800", "'\ud800'", "",
    " ", "\n", "\t\n ", "(", ")", "((", "())", "[", "}", "x +", "+ + x", "x + + y", "not", "and",
    "x and", "or x", "x not y", "if x", "x else y", "True = 1", "None", "True()", "None.x",
    "1 .real", "1.0.real", "'a'.upper()", "'%s' % x", "'a' * 999999999", "x.__class__",
    "__name__", "__builtins__", "__builtins__.eval", "__debug__", "self", "cls", "type(x)",
    "super()", "is_null", "is_null(x, y)", "fill_null(x)", "fill_null(x, y, z)", "log(x)(y)",
    "abs(abs)(x)", "abs(x)[0]", "log.x", "x if x else y if y else z", "not not not x", "~~~x",
    "-+-+x", "- - -9223372036854775808", "datetime('" + "2" * 5000 + "')",
    "decimal('1e999999999999999999999')", "decimal('" + "1" * 5000 + "')",
    "x == " + "'" + "a" * 5000 + "'", "nosuch(x)", "n" * 5000 + "(x)", "x." + "y" * 5000,
    "y" * 5000,
)  # fmt: skip
AROUND = ("{}", "x + {}", "({})", "abs({})", "x > 1 and {}", "[{}]", "-{}", "x in [{}]")
DEEP = (
    "(" * 90 + "x" + ")" * 90,
    "(" * 5000 + "x" + ")" * 5000,
    "-" * 50 + "x",
    "-" * 90_000 + "x",
    "~" * 5000 + "x",
    "not " * 20_000 + "x",
    "x" + " + x" * 20_000,
    "x" + " and x" * 10_000,
    "x" + " < x" * 10_000,
    "x" + " == x" * 90,
    "x" + ".x" * 40_000,
    "x" + "()" * 40_000,
    "x" + "[x" * 5000 + "]" * 5000,
    "abs(" * 150 + "x" + ")" * 150,
    "abs(" * 20_000 + "x" + ")" * 20_000,
    "[" * 5000 + "]" * 5000,
    "{" * 5000,
    "f'{" * 5000,
    "lambda:" * 10_000 + "x",
    "x if x else " * 5000 + "x",
    "x ** " * 20_000 + "x",
    "await " * 10_000 + "x",
    "x in [" + "1," * 40_000 + "]",
    "'a' " * 20_000,
    "x " * 40_000,
    "x" * 100_001,
    "'" + "a" * 200_000 + "'",
)


def hostile() -> Iterator[str]:
    for payload in PAYLOADS:
        for around in AROUND:
            yield around.replace("{}", payload)
    yield from DEEP


def random_hostile(rng: random.Random) -> str:
    """Return pieces of expressions in no order."""
    pieces = (
        "x", "y", "1", "'a'", "+", "-", "*", "/", "(", ")", "[", "]", ",", ".", " and ", " or ",
        " not ", " in ", " is ", "==", "<", "abs", "cast", "col", "None", "True", "=", ":", "{",
        "}", "f'", "'", '"', "\\", "\n", "#", "**", "//", "%", "&", "|", "~", "lambda ", " if ",
        " else ", " for ", "await ", ":=", "\0", "é", "datetime", "decimal", "1e", "0x", "@", ";",
        "!", "?", "$", "\t",
    )  # fmt: skip
    return "".join(rng.choice(pieces) for _ in range(rng.randint(1, 14)))


def check_hostile(text: str) -> bool:
    """Return whether a text is an expression; if not, one sentence must say so."""
    start = time.perf_counter()
    try:
        found = parse(text)
    except DefinitionError as error:
        sentence = str(error)
        assert len(sentence.splitlines()) == 1, repr(sentence)
        assert len(sentence) < 1000, sentence[:100]
        return False
    finally:
        assert time.perf_counter() - start < 5, text[:100]
    for node in found.walk():
        assert type(node) in (Call, Column, Literal), text[:100]
        if isinstance(node, Call):
            assert node.function in (*SYMBOLS, *ONE, "fill_null", "cast", "is_in"), text[:100]
    assert found.depth <= DEEPEST
    assert parse(found.text()) == found, text[:100]
    return True


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Let no text reach anything that would run it."""
    read = builtins.compile

    def refuse(*given: Any, **named: Any) -> Any:
        if given[0] == "unicodedata":  # Python itself looks up the names of letters there
            return unicodedata
        if given[0] == "slidefold.definition.arguments":  # from_dict itself
            return arguments
        raise AssertionError(f"ran {given[0]!r:.100}")

    def only_tree(
        source: Any, file: Any, mode: str, flags: int = 0, *more: Any, **named: Any
    ) -> Any:
        assert flags & 0x400, "compiles code"  # ast.PyCF_ONLY_AST
        return read(source, file, mode, flags, *more, **named)

    names = ("eval", "exec", "__import__", "open", "input", "breakpoint")
    kept = {name: getattr(builtins, name) for name in (*names, "compile")}
    imports = importlib.import_module
    for name in names:
        setattr(builtins, name, refuse)
    setattr(builtins, "compile", only_tree)  # noqa: B010
    importlib.import_module = refuse
    try:
        yield
    finally:
        importlib.import_module = imports
        for name, value in kept.items():
            setattr(builtins, name, value)


def test_the_guard_refuses_what_runs() -> None:
    with pytest.raises(AssertionError, match="ran"), nothing_runs():
        eval("1")
    with pytest.raises(AssertionError, match="compiles code"), nothing_runs():
        compile("1", "", "eval")


def test_hostile_texts_are_trees_or_one_sentence() -> None:
    texts = list(hostile())
    assert len(texts) > 1000
    with nothing_runs():
        read = [text for text in texts if check_hostile(text)]
    assert 50 < len(read) < len(texts) / 3


def test_hostile_texts_in_definitions_run_nothing() -> None:
    for text in PAYLOADS:
        for column in (
            {"operator": "count", "over": "1h", "where": text},
            {"operator": "sum", "columns": [{"expr": text}], "over": "1h"},
            {"expr": text},
        ):
            with nothing_runs():
                sentence = _refused({"on": "t", "columns": {"a": column}})
            assert len(sentence.splitlines()) <= 1


def test_a_pipeline_file_of_hostile_texts_gets_one_sentence_for_each(tmp_path: Path) -> None:
    texts = [text for text in hostile() if len(text) < 6000 and not _has_surrogate(text)]
    wrong = [text for text in dict.fromkeys(texts) if not check_hostile(text)]
    assert len(wrong) >= 1000
    forms = (
        "{{ operator = 'count', over = '1h', where = {} }}",
        "{{ operator = 'sum', columns = {{ expr = {} }}, over = '1h' }}",
        "{{ expr = {} }}",
    )
    columns = [
        f"c{i} = "
        + forms[i % 3].format(json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f"))
        for i, text in enumerate(wrong)
    ]
    (tmp_path / "in.csv").write_text("t,x,y\n1,2,3\n")
    file = tmp_path / "hostile.toml"
    tables = "[source]\npath = 'in.csv'\n[sink]\npath = 'out.csv'\n[features]\non = 't'\n"
    for guarded in (False, True):  # the first time imports modules
        file.write_text(tables + "[features.columns]\n" + "\n".join(columns), encoding="utf-8")
        guard = nothing_runs() if guarded else nullcontext()
        with pytest.raises(PipelineError) as raised, guard:
            run_pipeline(file)
        noted = Counter(key.split(".")[2] for key, _ in raised.value.mistakes)
        assert noted == Counter(f"c{i}" for i in range(len(wrong)))
        assert all(len(reason.splitlines()) == 1 for _, reason in raised.value.mistakes)
    assert not (tmp_path / "out.csv").exists()


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _refused(saved: dict[str, Any]) -> str:
    try:
        sf.Rolling.from_dict(saved)
    except SlidefoldError as error:
        return str(error)
    return ""


@given(st.integers(0, 2**32))
def test_random_pieces_are_trees_or_one_sentence(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        check_hostile(random_hostile(rng))


@pytest.mark.exhaustive
def test_many_random_pieces_are_trees_or_one_sentence() -> None:
    rng = random.Random(1)
    for _ in range(200_000):
        check_hostile(random_hostile(rng))


@given(st.text(max_size=40))
def test_any_text_is_a_tree_or_one_sentence(text: str) -> None:
    check_hostile(text)


@for_each("given", [None, 3, b"x", ["x"], {"x": 1}, Column("x"), True, 1.5])
def test_only_texts_are_read(given: Any) -> None:
    with pytest.raises(DefinitionError, match="must be a text such as"):
        parse(given)
