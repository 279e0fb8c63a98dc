"""What a caller can choose from: its collections, profiles and conversations."""

from elt_llm_api.render import local_time
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.conversations import Conversations
from elt_llm_api.serve.actions.profiles import Profiles
from elt_llm_api.serve.services import Services

_MOST = 100  # conversations

Choice = tuple[str, str]
"""What is shown, and what it stands for."""


def collection_choices(services: Services, principal: Principal) -> list[str]:
    """The collections that the caller may read."""
    return principal.readable(services.known())


def profile_choices(services: Services) -> list[str]:
    """Every profile by name, the default first."""
    return [one.name for one in Profiles(services).all()]


def profile_told(services: Services, name: str) -> str:
    """What a profile is for, in a sentence; empty for one that is not there any more."""
    return next((one.description for one in Profiles(services).all() if one.name == name), "")


def conversation_choices(services: Services, principal: Principal) -> list[Choice]:
    """The caller's last conversations that have a question, the latest first."""
    listed = Conversations(services).all(principal, _MOST, 0)
    return [(f"{local_time(one.updated_at)}  {one.title}", one.session_id) for one in listed if one.turns]
