"""The prompts: those that are shipped, or those of the same name below `config/prompts`."""

import re
from collections.abc import Mapping
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
# What each prompt cannot do without: an answer to a question that is not shown would be about nothing.
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

    Raises SettingsError, naming the file, for a file that is no prompt or lacks a value that the prompt needs.
    """
    folder = config_dir / "prompts" if config_dir else None
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
    return prompt
