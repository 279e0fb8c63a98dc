"""Names of months in English, German, French and Lithuanian, as they are written in running text."""

_ENGLISH = "january february march april may june july august september october november december"
_GERMAN = "januar februar märz april mai juni juli august september oktober november dezember"
_FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
# The genitive stands in dates, the nominative before a year.
_LITHUANIAN = (
    "sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio",
    "sausis vasaris kovas balandis gegužė birželis liepa rugpjūtis rugsėjis spalis lapkritis gruodis",
)
_SHORT = (
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "jän feb mär apr mai jun jul aug sept okt nov dez",
    "janv févr mrz avr mai juin juil aoû sept oct nov déc",
)
# Words that mean something else when they stand without a day, and the way they are then written.
_ALSO_VERBS = frozenset({"march", "may", "august", "mar", "sep", "dec", "jan"})
_ALSO_NAMES = frozenset({"Mars", "Avril"})


def _numbered(names: str) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split(), start=1)}


def _every_case() -> dict[str, int]:
    lower: dict[str, int] = {}
    for names in (_ENGLISH, _GERMAN, _FRENCH, *_LITHUANIAN, *_SHORT):
        lower.update(_numbered(names))
    return {form: number for name, number in lower.items() for form in (name, name.capitalize(), name.upper())}


MONTHS = _every_case()  # spelling: number of the month, 1 to 12
LONGEST_MONTH = max(map(len, MONTHS))


def tells_a_month_alone(spelling: str) -> bool:
    """Whether the word is a month without a day beside it: "March", but neither "march" nor the planet Mars."""
    return spelling not in _ALSO_VERBS and spelling not in _ALSO_NAMES
