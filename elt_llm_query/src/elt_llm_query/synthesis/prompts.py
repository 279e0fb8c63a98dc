"""The prompts: those that are shipped, or those of the same name below `config/prompts`."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, get_args

import yaml
from elt_llm_core.errors import SettingsError
from elt_llm_core.settings_loader import read_model
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

PromptName = Literal["simple", "cot", "tot_branch", "tot_score", "reflect", "polish", "step", "follow_up"]
PROMPT_NAMES: tuple[PromptName, ...] = get_args(PromptName)
# What each prompt cannot do without (an answer to a question that is not shown would be about nothing), and what it is
# given besides.
_NEEDED: Mapping[PromptName, tuple[str, ...]] = MappingProxyType(
    {
        "simple": ("sources", "question"),
        "cot": ("sources", "question"),
        "tot_branch": ("sources", "question"),
        "tot_score": ("sources", "question", "attempts"),
        "reflect": ("sources", "question", "draft", "problems"),
        "polish": ("question", "parts"),
        "follow_up": ("earlier", "question"),
        "step": ("question", "found"),
    }
)
_GIVEN: Mapping[PromptName, tuple[str, ...]] = MappingProxyType(
    {
        "simple": ("language", "steps"),
        "cot": ("language", "steps"),
        "tot_branch": ("language", "steps", "branch", "hint"),
        "tot_score": ("language", "steps"),
        "reflect": ("language", "steps"),
        "polish": ("language", "steps"),
        "follow_up": (),
        "step": ("missing", "taken"),
    }
)
_ALIKE = 0.8  # from there on one name is taken for another, misspelt
_PLACE = re.compile(r"\{([a-z_]{1,40})\}")
_Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class Example(BaseModel):
    """A question as the model would be asked it, and the answer it is to give."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: _Text
    answer: _Text


class Prompt(BaseModel):
    """What a model is told and asked; `{name}` in either stands for a value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: _Text
    examples: tuple[Example, ...] = Field((), max_length=20)
    user: _Text

    @property
    def places(self) -> frozenset[str]:
        """The names of the values it takes."""
        return frozenset(_PLACE.findall(self.system)) | frozenset(_PLACE.findall(self.user))


Prompts = Mapping[PromptName, Prompt]


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its values, each as it is: braces within a value stand for nothing, unknown names stay."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), template)


def shipped_text(name: PromptName) -> str:
    """The file of a shipped prompt, to be written out as an example."""
    return files("elt_llm_query.synthesis").joinpath(f"prompts/{name}.yaml").read_text(encoding="utf-8")


@cache
def shipped_prompt(name: PromptName) -> Prompt:
    """A shipped prompt."""
    return Prompt.model_validate(yaml.safe_load(shipped_text(name)))


def load_prompts(config_dir: Path | None, shown_from: Path | None = None) -> Prompts:
    """Every prompt: that of `prompts/NAME.yaml` in the configuration where there is such a file, else the shipped one.

    Raises SettingsError, naming the file, for a file that is no prompt, lacks a value that the prompt needs, or
    misspells a value or its own name: it would be left unread in silence.
    """
    folder = config_dir / "prompts" if config_dir else None
    _check_names(folder)
    return {name: _load(name, folder, shown_from or Path.cwd()) for name in PROMPT_NAMES}


def _load(name: PromptName, folder: Path | None, shown_from: Path) -> Prompt:
    path = folder / f"{name}.yaml" if folder else None
    if path is None or not path.is_file():
        return shipped_prompt(name)
    prompt = read_model(path, Prompt, shown_from)
    missing = [place for place in _NEEDED[name] if place not in prompt.places]
    if missing:
        places = " and ".join(f"{{{place}}}" for place in missing)
        raise SettingsError(
            f"{path}: the prompt does not say where {places} goes.",
            hint="Put it into `user`, as in the file that elt-llm init writes.",
        )
    given = (*_NEEDED[name], *_GIVEN[name])
    for place in sorted(prompt.places - set(given)):
        if meant := get_close_matches(place, given, 1, _ALIKE):
            raise SettingsError(f"{path}: {{{place}}} stands for nothing.", hint=f"Is it {{{meant[0]}}}?")
    return prompt


def _check_names(folder: Path | None) -> None:
    for path in sorted(folder.glob("*.y*ml")) if folder else ():
        known = path.stem in PROMPT_NAMES
        if not (known and path.suffix == ".yaml") and (meant := get_close_matches(path.stem, PROMPT_NAMES, 1, _ALIKE)):
            raise SettingsError(f"{path}: no prompt is read from there.", hint=f"Rename it to {meant[0]}.yaml")
