"""Expressions of one row: what operators fold, which rows they take, what is made of results."""

from slidefold.definition.expressions.compiled import Compiled
from slidefold.definition.expressions.face import Combined, Expression, col, node_of
from slidefold.definition.expressions.grammar import parse
from slidefold.definition.expressions.nodes import Call, Column, Literal, Node, Result
from slidefold.definition.expressions.program import compile_expressions

__all__ = [
    "Call",
    "Column",
    "Combined",
    "Compiled",
    "Expression",
    "Literal",
    "Node",
    "Result",
    "col",
    "compile_expressions",
    "node_of",
    "parse",
]
