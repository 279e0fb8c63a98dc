from elt_llm_core.settings import AnswerSettings, QuerySettings, Settings
from elt_llm_query.without_effect import settings_without_effect


def test_defaults_and_settings_that_work_are_not_mentioned() -> None:
    assert settings_without_effect(Settings()) == []
    assert settings_without_effect(Settings(query=QuerySettings(leg_top_k=20))) == []


def test_every_idle_setting_is_named() -> None:
    settings = Settings(query=QuerySettings(system_prompt="Be brief."), answer=AnswerSettings(strict=True))
    assert settings_without_effect(settings) == [
        "Set, but without effect in this version: query.system_prompt, answer.strict."
    ]
