"""Words that say nothing about a text, by language, where bm25s brings no list; written with their diacritics."""
# ruff: noqa: RUF001 - the words of other scripts are what this file is about.

from functools import cache

from elt_llm_core.text.normalise import fold

# Code of the language: the list in bm25s.
LISTS_OF_BM25S = {
    "da": "STOPWORDS_DANISH",
    "de": "STOPWORDS_GERMAN",
    "en": "STOPWORDS_EN_PLUS",
    "es": "STOPWORDS_SPANISH",
    "fr": "STOPWORDS_FRENCH",
    "it": "STOPWORDS_ITALIAN",
    "ko": "STOPWORDS_KOREAN",
    "nl": "STOPWORDS_DUTCH",
    "no": "STOPWORDS_NORWEGIAN",
    "pt": "STOPWORDS_PORTUGUESE",
    "ru": "STOPWORDS_RUSSIAN",
    "sv": "STOPWORDS_SWEDISH",
    "tr": "STOPWORDS_TURKISH",
    "zh": "STOPWORDS_CHINESE",
}

# Only words whose spelling without diacritics is no other word worth finding.
OWN_LISTS = {
    "ar": "في من على إلى عن أن إن ما لا هو هي هذا هذه ذلك التي الذي كان كانت قد كل مع بعد قبل بين أو ثم لم لن و",
    "ca": """el la els les un una uns unes i o de del dels a al als en amb per que què qui com quan on no és són ser
        va ha han més aquest aquesta aquests aquestes seu seva si però també tot tots entre fins sense sobre""",
    "el": """ο η το οι τα του της των τον την τους τις στο στη στην στον στα στους στις και να θα με σε από για που
        πως ότι είναι ήταν δεν μη ή αν αλλά ως κατά προς ένα μια ένας αυτό αυτή αυτός""",
    "eu": "eta edo ez da dira zen ziren bat bere hau hori du dute izan ere baina baino arte egin dela den dago",
    "fi": """ja tai on ei ole oli ovat että se ne hän he joka jotka mikä mitä kuin kun jos niin myös vain sen sitä
        tämä tämän ovat olla oli mutta sekä kuka missä milloin miten kanssa ennen jälkeen""",
    "ga": "agus an na ar is tá bhí ag le do de go sin seo nach ní má mar ach sé sí siad leis ina faoi gach",
    "hi": "के का की में है हैं और से को पर ने कि यह वह था थी थे भी नहीं तो ही या एक जो हो लिए कर",
    "hu": """a az és vagy nem is egy hogy ez azt van volt lesz kell ki mi mit hol mikor hogyan meg csak már még de ha
        mint minden el fel be le ezt ennek annak által után előtt között alatt""",
    "hy": "և ու կամ է են էր էին որ այս այդ այն իր չի ոչ մի համար մեջ հետ նա նրա",
    "id": """yang dan atau di ke dari ini itu untuk dengan pada adalah tidak dalam akan oleh juga sudah telah dapat
        harus apa siapa kapan bagaimana sebagai antara""",
    "lt": """ir ar bei arba o bet kad jog jei jeigu kai kaip kas ką kam ko kuo kur kada kodėl kiek koks kokia kokie
        kokios kokį kokią kuris kuri kurie kurios kurį kurią kuriuos kurias kuriam kurių yra buvo bus būti būna nėra
        ne nei į iš su be per prie po prieš už nuo iki ant dėl pas pagal tarp apie virš
        tai tas ta tie tos to tą tam šis ši šie šios šio šį šią šiuo jis ji jie jos jo jį ją jų jam jai jiems
        aš tu mes jūs mano tavo savo mūsų jūsų visi visas visa visos visų taip pat dar jau tik tiktai
        nes nors todėl tačiau gali galima turi reikia kiekvienas kiekviena toks tokia vienas viena būtų""",
    "ne": "को मा र हो छ ले लाई का की छन् यो त्यो पनि गर्न भएको थियो हुन् तथा वा बाट",
    "ro": """și sau de la în din pe cu pentru prin că care ce cine când unde cum este sunt era au are fi nu mai un o
        unei unui al ale ai a se sa să său lor lui după înainte dacă dar către între acest această aceste""",
    "sr": """i ili je su u na za od do sa se da ne nije će bio bila kao koji koja koje šta ko kada gde kako ali ako
        и или је су у на за од до са се да не није ће био била као који која које шта ко када где како али ако""",
    "ta": "ஒரு மற்றும் இந்த அந்த என்று என அது இது உள்ள ஆகும் அல்லது இல்லை மேலும் என்ன யார்",
    "yi": "די דער דאס און איז אין צו פון מיט נישט א אן ער זי זיי אבער וואס ווער ווי אויף פאר",
}


@cache
def stopwords_of(language: str) -> frozenset[str]:
    """The folded stopwords of a language; none where no list is known."""
    from bm25s import stopwords

    if language in OWN_LISTS:
        return frozenset(fold(word) for word in OWN_LISTS[language].split())
    name = LISTS_OF_BM25S.get(language)
    return frozenset(fold(word) for word in getattr(stopwords, name)) if name else frozenset()
