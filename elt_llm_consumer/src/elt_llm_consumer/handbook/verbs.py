"""Verbs of rules and their forms, so that what is done can be told from what it is done to without a parser."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

Form = Literal["base", "third", "participle", "past"]

_REGULAR: Final = """
accept accompany account acknowledge act address adjourn administer admit adopt advise affect agree allow amend
announce answer appeal appear apply appoint approve arrange ask assess assign assist attach attend audit authorise
authorize award ban belong call cancel carry cast certify chair challenge change charge check claim classify close
collect combine comment commission compare compile complete comply compose conduct confirm consider consist consult
contain contribute control convene copy correct cover create decide declare delegate delete deliver demand depend
deposit describe designate destroy determine direct disclose dismiss display distribute document elect employ enable
encrypt enforce engage ensure enter establish evaluate examine exclude execute exercise expel explain extend file
follow forfeit forward fulfil govern grade grant group guide handle hear hire hold host identify implement impose
include incorporate inform inspect install instruct insure invite invoke involve issue join keep label lapse lend
license limit link list load lodge maintain make manage mark measure monitor move name nominate notify obey observe
obtain occupy offer operate order organise organize oversee own participate pass pay perform permit place play
possess prepare present preserve prevent process produce prohibit promote propose protect prove provide publish
punish qualify raise receive recommend record refer refuse register reject release relegate remove renew repay
replace report represent request require resign resolve respond restrict retain retire return review revoke sanction
satisfy schedule select send serve settle share show sign specify start state stop store submit supervise supply
support suspend take terminate test train transfer treat undertake update upload use validate verify vet view visit
vote wear withdraw witness write appraise archive arbitrate borrow bear become begin bring build buy choose define
depend deploy derive develop disqualify download edit export extract fund generate import initiate inherit leave
loan lose meet mention modify open override overrule owe preside purchase rank reach read rely rename reimburse
replay request reside restore run save sell separate set shorten spend sponsor tell terminate translate uphold use
waive warn give get have hand inform invoke let know see
"""
_IRREGULAR: Final[Mapping[str, tuple[str, str]]] = {
    "bear": ("bore", "borne"),
    "become": ("became", "become"), "begin": ("began", "begun"), "bring": ("brought", "brought"),
    "build": ("built", "built"), "buy": ("bought", "bought"), "cast": ("cast", "cast"), "choose": ("chose", "chosen"),
    "get": ("got", "got"), "give": ("gave", "given"), "have": ("had", "had"), "hear": ("heard", "heard"),
    "hold": ("held", "held"), "keep": ("kept", "kept"), "know": ("knew", "known"), "leave": ("left", "left"),
    "lend": ("lent", "lent"), "let": ("let", "let"), "lose": ("lost", "lost"), "make": ("made", "made"),
    "meet": ("met", "met"), "oversee": ("oversaw", "overseen"), "pay": ("paid", "paid"), "read": ("read", "read"),
    "repay": ("repaid", "repaid"), "run": ("ran", "run"), "see": ("saw", "seen"), "sell": ("sold", "sold"),
    "send": ("sent", "sent"), "set": ("set", "set"), "show": ("showed", "shown"), "spend": ("spent", "spent"),
    "take": ("took", "taken"), "tell": ("told", "told"), "undertake": ("undertook", "undertaken"),
    "uphold": ("upheld", "upheld"), "wear": ("wore", "worn"), "withdraw": ("withdrew", "withdrawn"),
    "write": ("wrote", "written"), "override": ("overrode", "overridden"), "overrule": ("overruled", "overruled"),
}  # fmt: skip
_DOUBLED: Final = frozenset(
    {
        *("admit", "ban", "cancel", "compel", "control", "expel", "fulfil", "label", "permit", "plan", "refer", "stop"),
        *(
            "submit",
            "transfer",
            "vet",
            "commit",
            "omit",
            "transmit",
            "equip",
            "occur",
            "propel",
            "rebut",
            "drop",
            "set",
        ),
    }
)
_VOWELS: Final = frozenset("aeiou")


class Verbs:
    """Knows which words may be verbs, and of which verb they are a form; `learned` are base forms met in the texts."""

    def __init__(self, learned: Iterable[str] = ()) -> None:
        self._forms: dict[str, dict[Form, str]] = {}
        for base in sorted({*_REGULAR.split(), *_IRREGULAR, *learned}):
            for form, written in _forms_of(base):
                self._forms.setdefault(written, {}).setdefault(form, base)

    def base(self, word: str, *forms: Form) -> str | None:
        """The verb that a word in lower case is one of these forms of; None if it is none."""
        known = self._forms.get(word, {})
        return next((known[form] for form in forms if form in known), None)

    @staticmethod
    def participle(base: str) -> str:
        """Of "keep" it is "kept"."""
        return dict(_forms_of(base))["participle"]


def third_person(base: str) -> str:
    """Of "send" it is "sends", of "carry" it is "carries"."""
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return base[:-1] + "ies"
    return base + "s"


def _forms_of(base: str) -> Iterator[tuple[Form, str]]:
    past, participle = _IRREGULAR.get(base, (_past(base), _past(base)))
    yield "base", base
    yield "third", third_person(base)
    yield "participle", participle
    yield "past", past


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return base[:-1] + "ied"
    return (base + base[-1] if base in _DOUBLED else base) + "ed"
