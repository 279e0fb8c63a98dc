"""The kinds of jobs there are."""

from typing import Literal, get_args

Kind = Literal["glossary", "catalog", "coverage", "handbook"]
KINDS: tuple[Kind, ...] = get_args(Kind)
