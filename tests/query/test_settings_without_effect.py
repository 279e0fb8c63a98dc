from elt_llm_core.settings.tree import AnswerSettings, QuerySettings, Settings
from elt_llm_query.engine import settings_without_effect


def test_default_values_and_settings_in_use_are_not_listed_as_having_no_effect() -> None:
    assert settings_without_effect(Settings(), writes=False) == []
    assert settings_without_effect(Settings(query=QuerySettings(retriever_top_k=20)), writes=False) == []


def test_every_changed_setting_that_has_no_effect_is_listed() -> None:
    settings = Settings(query=QuerySettings(system_prompt="Be brief."), answer=AnswerSettings(strict=True))
    assert settings_without_effect(settings, writes=False) == [
        "These settings have no effect while no language model is in use: query.system_prompt, answer.strict."
    ]
    assert settings_without_effect(settings, writes=True) == []
