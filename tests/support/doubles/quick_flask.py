"""Templates and routes are compiled once a process, for all applications.

A service has one application in its life. Tests make thousands: compiling took a fifth of their
time.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import NamedTuple

from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from werkzeug.routing import BaseConverter, Map, Rule
from werkzeug.routing.rules import RulePart

__all__ = ["install"]


class CompiledTemplates(BytecodeCache):
    """What Jinja made of each text, in the memory of this process."""

    def __init__(self) -> None:
        self._codes: dict[str, CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get(bucket.key + bucket.checksum)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._codes[bucket.key + bucket.checksum] = bucket.code


class Compiled(NamedTuple):
    """What comes of a rule's text; it is the same in every application."""

    parts: list[RulePart]
    trace: list[tuple[bool, str]]
    converters: dict[str, BaseConverter]


_compiled: dict[tuple[str, bool | None], Compiled] = {}
_builders: dict[tuple[str, str, bool], Callable[..., tuple[str, str]]] = {}


class LazyRule(Rule):
    """A route whose pattern is compiled once a process, and whose `url_for` at its first use.

    All of them take 20 ms.
    """

    def compile(self) -> None:
        assert self.map is not None
        ordinary = self.map.converters.items() == Map.default_converters.items()
        if not ordinary or self.map.host_matching or self.subdomain:
            super().compile()
            return
        key = self.rule, self.merge_slashes
        if key not in _compiled:
            super().compile()
            _compiled[key] = Compiled(self._parts, self._trace, self._converters)
            return
        self._parts, self._trace, self._converters = _compiled[key]
        self.arguments |= self._converters.keys()
        self._build = self._compile_builder(False).__get__(self, None)
        self._build_unknown = self._compile_builder(True).__get__(self, None)

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled = super()._compile_builder
        key = repr(self._trace), repr(self.defaults), append_unknown

        def build(rule: Rule, **values: object) -> tuple[str, str]:
            if key not in _builders:
                _builders[key] = compiled(append_unknown)
            return _builders[key](rule, **values)

        return build


def install() -> None:
    """For every application that this process makes from now on."""
    Flask.jinja_options = {**Flask.jinja_options, "bytecode_cache": CompiledTemplates()}
    Flask.url_rule_class = LazyRule
