# ruff: noqa: RUF001 - letters of other scripts are what this file is about.
import pytest
from elt_llm_core.text.language import detect_language


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "A club must register all of its players before the first match of the season is played."),
        ("de", "Der Verein muss alle seine Spieler vor dem ersten Spiel der Saison bei dem Verband anmelden."),
        ("fr", "Le club doit inscrire tous ses joueurs avant que le premier match de la saison ne soit joué."),
        (
            "es",
            "El club debe inscribir a todos los jugadores antes de que se juegue el primer partido de la temporada.",
        ),
        ("it", "La squadra deve iscrivere tutti i suoi giocatori prima che la stagione sia cominciata con la gara."),
        ("nl", "De club moet al zijn spelers voor de eerste wedstrijd van het seizoen bij de bond hebben gemeld."),
        ("ru", "Клуб должен зарегистрировать всех своих игроков до того, как будет сыгран первый матч."),
        (
            "lt",
            "Komanda iki pirmųjų sezono rungtynių privalo užregistruoti visus savo žaidėjus, kad jie galėtų žaisti.",
        ),
        ("lt", "Klubas privalo užregistruoti žaidėjus. Žaidėjų sąrašą tvirtina federacija. Mokestį sumoka klubas."),
        (
            "fi",
            "Seuran on rekisteröitävä kaikki pelaajat ennen kuin kauden ensimmäinen ottelu pelataan, ja se on pakko.",
        ),
        ("hu", "A klubnak minden játékost be kell jelentenie, mielőtt az idény első mérkőzését lejátsszák."),
        ("ro", "Clubul trebuie să înscrie toți jucătorii înainte de primul meci din sezon, după regulile ligii."),
        ("ca", "El club ha d'inscriure tots els jugadors abans que es jugui el primer partit de la temporada."),
        ("el", "Ο σύλλογος πρέπει να δηλώσει όλους τους παίκτες πριν από τον πρώτο αγώνα της περιόδου."),
        (
            "id",
            "Klub harus mendaftarkan semua pemain sebelum pertandingan pertama dari musim ini dan tidak sesudah itu.",
        ),
        ("hi", "क्लब को सत्र के पहले मैच से पहले अपने सभी खिलाड़ियों का पंजीकरण करना है।"),
        ("ar", "يجب على النادي أن يسجل جميع لاعبيه قبل المباراة الأولى في الموسم من كل عام."),
        ("zh", "俱乐部必须在赛季的第一场比赛之前注册所有球员。"),
        ("ja", "クラブはシーズンの最初の試合の前にすべての選手を登録しなければならない。"),
        ("ko", "구단은 시즌 첫 경기 전에 모든 선수를 등록해야 한다."),
    ],
)
def test_the_language_of_running_text_is_detected(language: str, text: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    "text", ["", "Der Verein", "1 2 3 4 5 6 7 8 9 10 11 12", "Klubs drīkst reģistrēt spēlētājus. " * 5]
)
def test_undetectable_text_counts_as_english(text: str) -> None:
    assert detect_language(text) == "en"


def test_lithuanian_text_without_diacritics_is_detected_by_its_stopwords() -> None:
    text = "Sveikatos prieziuros istaigos turi saugoti duomenis ir po gydymo, kad jie butu prieinami ne tik gydytojui."
    assert detect_language(text) == "lt"
