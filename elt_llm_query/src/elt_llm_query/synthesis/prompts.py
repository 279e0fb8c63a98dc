"""Prompts: the shipped ones, except those that a file with the same name in `config/prompts` replaces."""

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, get_args

import yaml
from elt_llm_core.errors import SettingsError
from elt_llm_core.settings.loader import read_model
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

PromptName = Literal["simple", "cot", "tot_branch", "tot_score", "reflect", "polish", "step", "follow_up"]
PROMPT_NAMES: tuple[PromptName, ...] = get_args(PromptName)
# The values that each prompt must contain, and those that it may contain.
_VALUES = tomllib.loads((Path(__file__).parent / "prompts" / "values.toml").read_text(encoding="utf-8"))
_ALIKE = 0.8  # similarity from which a name counts as misspelt
_VALUE = re.compile(r"\{([a-z_]{1,40})\}")
_Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class PromptExample(BaseModel):
    """An example question with its answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: _Text
    answer: _Text


class Prompt(BaseModel):
    """The system and user texts of a prompt. In both texts, `{name}` is a placeholder for a value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: _Text
    examples: tuple[PromptExample, ...] = Field((), max_length=20)
    user: _Text

    @property
    def values(self) -> frozenset[str]:
        """The names of the placeholders in the prompt."""
        return frozenset(_VALUE.findall(self.system)) | frozenset(_VALUE.findall(self.user))


Prompts = Mapping[PromptName, Prompt]


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders by their values. Braces within a value, and placeholders without a value, are kept."""
    return _VALUE.sub(lambda found: values.get(found[1], found[0]), template)


def shipped_text(name: PromptName) -> str:
    """Return the text of a shipped prompt file, which users may copy and change."""
    return files("elt_llm_query.synthesis").joinpath(f"prompts/{name}.yaml").read_text(encoding="utf-8")


@cache
def shipped_prompt(name: PromptName) -> Prompt:
    """Read a shipped prompt."""
    return Prompt.model_validate(yaml.safe_load(shipped_text(name)))


def load_prompts(config_dir: Path | None, shown_from: Path | None = None) -> Prompts:
    """Read every prompt: from `prompts/NAME.yaml` in the configuration folder if it exists, else the shipped one.

    Raises SettingsError, which names the file, if a file is not a prompt, lacks a required placeholder, or contains a
    misspelt one; also if the name of a file is misspelt. Such mistakes would otherwise have no visible effect.
    """
    folder = config_dir / "prompts" if config_dir else None
    for path in sorted(folder.glob("*.y*ml")) if folder else ():
        known = path.stem in PROMPT_NAMES and path.suffix == ".yaml"
        if not known and (meant := get_close_matches(path.stem, PROMPT_NAMES, 1, _ALIKE)):
            raise SettingsError(f"{path}: there is no prompt of this name.", hint=f"Rename it to {meant[0]}.yaml")
    return {name: _load(name, folder, shown_from or Path.cwd()) for name in PROMPT_NAMES}


def _load(name: PromptName, folder: Path | None, shown_from: Path) -> Prompt:
    path = folder / f"{name}.yaml" if folder else None
    if path is None or not path.is_file():
        return shipped_prompt(name)
    prompt = read_model(path, Prompt, shown_from)
    required, optional = _VALUES[name]
    if missing := " and ".join(f"{{{value}}}" for value in required if value not in prompt.values):
        raise SettingsError(
            f"{path}: the prompt does not contain {missing}.",
            hint="Add it to the text `user` of the file. For an example, see the file that elt-llm init writes.",
        )
    for value in sorted(prompt.values - {*required, *optional}):
        if meant := get_close_matches(value, (*required, *optional), 1, _ALIKE):
            raise SettingsError(
                f"{path}: this prompt has no placeholder {{{value}}}.", hint=f"Did you mean {{{meant[0]}}}?"
            )
    return prompt
