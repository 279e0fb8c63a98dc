"""Rules of an imaginary club and library, each with a correct paraphrase and a false version.

`HELD_OUT` of `rule_pairs_held_out` was written before the grounding rules were fitted to `DEVELOPMENT`.
"""

from typing import NamedTuple


class RulePair(NamedTuple):
    """A rule, a correct paraphrase, and a false version, which contradicts the rule or claims more than it."""

    source: str
    honest: str
    false: str


DEVELOPMENT = (
    RulePair(
        "No club may change its name more than once in any five years.",
        "A club may change its name at most once in any five years.",
        "A club may change its name at least once in any five years.",
    ),
    RulePair(
        "A reader may borrow no more than six books at a time.",
        "A reader may borrow up to six books at a time.",
        "A reader may borrow more than six books at a time.",
    ),
    RulePair(
        "Notice of the annual meeting must be given not less than fourteen days before it.",
        "At least two weeks' notice of the annual meeting must be given.",
        "At most fourteen days' notice of the annual meeting must be given.",
    ),
    RulePair(
        "Boats must not leave the harbour unless the duty officer agrees.",
        "Boats may leave the harbour only if the duty officer agrees.",
        "Boats may leave the harbour even if the duty officer does not agree.",
    ),
    RulePair(
        "Only full members may vote at the general meeting.",
        "No one except full members may vote at the general meeting.",
        "Full members may not vote at the general meeting.",
    ),
    RulePair(
        "Smoking is prohibited in the reading room.",
        "Readers must not smoke in the reading room.",
        "Smoking is permitted in the reading room.",
    ),
    RulePair(
        "A junior member need not pay the joining fee.",
        "A junior member does not have to pay the joining fee.",
        "A junior member must pay the joining fee.",
    ),
    RulePair(
        "Every member is entitled to bring two guests to the summer regatta.",
        "Every member may bring two guests to the summer regatta.",
        "Every member must bring two guests to the summer regatta.",
    ),
    RulePair(
        "Subscriptions shall be paid by 31 March.",
        "Subscriptions must be paid no later than 31 March.",
        "Subscriptions must be paid no earlier than 31 March.",
    ),
    RulePair(
        "The pool does not open before 7 a.m.",
        "The pool opens only from 7 a.m.",
        "The pool opens before 7 a.m.",
    ),
    RulePair(
        "The fine for a late book shall not exceed £12.",
        "The maximum fine for a late book is £12.",
        "The minimum fine for a late book is £12.",
    ),
    RulePair(
        "A sale of land above £5m requires the consent of the trustees.",
        "A sale of land above £5,000,000 needs the consent of the trustees.",
        "A sale of land below £5m requires the consent of the trustees.",
    ),
    RulePair(
        "Members under 16 must not use the workshop.",
        "Members must be at least 16 to use the workshop.",
        "Members under 16 may use the workshop.",
    ),
    RulePair(
        "A resolution is carried if not less than half of the votes are in favour.",
        "A resolution is carried if at least 50 % of the votes are in favour.",
        "A resolution is carried if less than half of the votes are in favour.",
    ),
    RulePair(
        "Lockers are rented for a fortnight.",
        "Lockers are rented for 14 days.",
        "Lockers are rented for 20 days.",
    ),
    RulePair(
        "The treasurer must report to the board twice a year.",
        "The treasurer has to report to the board two times a year.",
        "The treasurer must report to the board three times a year.",
    ),
    RulePair(
        "Dogs are not allowed on the practice field.",
        "It is forbidden to bring dogs on the practice field.",
        "Dogs are allowed on the practice field.",
    ),
    RulePair(
        "An applicant is required to show proof of address.",
        "An applicant must show proof of address.",
        "An applicant does not have to show proof of address.",
    ),
    RulePair(
        "The loan may be extended at most three times.",
        "The loan cannot be extended more than three times.",
        "The loan may be extended at least three times.",
    ),
    RulePair(
        "No guest may enter the archive without a permit.",
        "Guests may enter the archive only with a permit.",
        "Guests may enter the archive without a permit.",
    ),
    RulePair(
        "Ein Mitglied darf nicht mehr als vier Gäste mitbringen.",
        "Ein Mitglied darf höchstens vier Gäste mitbringen.",
        "Ein Mitglied darf mindestens vier Gäste mitbringen.",
    ),
    RulePair(
        "Kein Leser darf mehr als zehn Bücher gleichzeitig ausleihen.",
        "Ein Leser darf maximal zehn Bücher gleichzeitig ausleihen.",
        "Ein Leser darf mehr als zehn Bücher gleichzeitig ausleihen.",
    ),
    RulePair(
        "Der Beitrag ist spätestens am 1. April zu zahlen.",
        "Der Beitrag muss bis zum 1. April gezahlt werden.",
        "Der Beitrag ist frühestens am 1. April zu zahlen.",
    ),
    RulePair(
        "Das Rauchen ist im Lesesaal verboten.",
        "Im Lesesaal darf nicht geraucht werden.",
        "Das Rauchen ist im Lesesaal erlaubt.",
    ),
    RulePair(
        "Nur aktive Mitglieder dürfen den Vorstand wählen.",
        "Der Vorstand darf nur von aktiven Mitgliedern gewählt werden.",
        "Aktive Mitglieder dürfen den Vorstand nicht wählen.",
    ),
    RulePair(
        "Jugendliche müssen keine Aufnahmegebühr zahlen.",
        "Jugendliche brauchen keine Aufnahmegebühr zu zahlen.",
        "Jugendliche müssen eine Aufnahmegebühr zahlen.",
    ),
    RulePair(
        "Die Einladung muss mindestens zwei Wochen vor der Versammlung verschickt werden.",
        "Die Einladung muss wenigstens 14 Tage vor der Versammlung verschickt werden.",
        "Die Einladung muss höchstens zwei Wochen vor der Versammlung verschickt werden.",
    ),
    RulePair(
        "Boote dürfen nur mit Zustimmung des Hafenmeisters auslaufen.",
        "Boote dürfen nicht ohne Zustimmung des Hafenmeisters auslaufen.",
        "Boote dürfen ohne Zustimmung des Hafenmeisters auslaufen.",
    ),
    RulePair(
        "Jedes Mitglied ist berechtigt, die Bücher des Vereins einzusehen.",
        "Jedes Mitglied darf die Bücher des Vereins einsehen.",
        "Jedes Mitglied ist verpflichtet, die Bücher des Vereins einzusehen.",
    ),
    RulePair(
        "Die Werkstatt öffnet nicht vor 9 Uhr.",
        "Die Werkstatt öffnet erst ab 9 Uhr.",
        "Die Werkstatt öffnet vor 9 Uhr.",
    ),
)
