"""Rules of an imaginary club and library, each said honestly in other words and once falsely.

`HELD_OUT` was written before anything was made to fit `DEVELOPMENT`, and nothing was made to fit it.
"""

from typing import NamedTuple


class RulePair(NamedTuple):
    """A rule, the same rule in other words, and what contradicts it or goes beyond it."""

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

HELD_OUT = (
    RulePair(
        "No member may serve as president for longer than three years.",
        "A member may serve as president for at most three years.",
        "A member may serve as president for longer than three years.",
    ),
    RulePair(
        "A team may not enter a match with fewer than nine players.",
        "A team must have at least nine players to enter a match.",
        "A team may enter a match with fewer than nine players.",
    ),
    RulePair(
        "Appeals shall be lodged within seven days of the decision.",
        "Appeals must be lodged no later than one week after the decision.",
        "Appeals must be lodged no earlier than seven days after the decision.",
    ),
    RulePair(
        "The hall may be hired for a maximum of eight hours a day.",
        "The hall cannot be hired for more than eight hours a day.",
        "The hall must be hired for a minimum of eight hours a day.",
    ),
    RulePair(
        "Original maps shall not be copied except by library staff.",
        "Only library staff may copy original maps.",
        "Library staff must not copy original maps.",
    ),
    RulePair(
        "Players are not permitted to leave the field until the whistle has blown.",
        "Players may leave the field only after the whistle has blown.",
        "Players may leave the field before the whistle has blown.",
    ),
    RulePair(
        "Visitors do not need to sign the register on open days.",
        "Visitors need not sign the register on open days.",
        "Visitors are required to sign the register on open days.",
    ),
    RulePair(
        "A reader is allowed to renew a book one time.",
        "A reader may renew a book once.",
        "A reader may renew a book twice.",
    ),
    RulePair(
        "The committee can spend up to €3,500 without a vote.",
        "Without a vote the committee may spend no more than 3500 euros.",
        "Without a vote the committee must spend at least 3500 euros.",
    ),
    RulePair(
        "Swimming is forbidden in the lower lake.",
        "Nobody may swim in the lower lake.",
        "Everybody may swim in the lower lake.",
    ),
    RulePair(
        "A quorum consists of not fewer than a dozen delegates.",
        "At least twelve delegates form a quorum.",
        "At most twelve delegates form a quorum.",
    ),
    RulePair(
        "The keys shall be returned to the porter at the end of the day.",
        "The keys have to be returned to the porter at the end of the day.",
        "The keys need not be returned to the porter at the end of the day.",
    ),
    RulePair(
        "Bids received after noon on Friday will not be considered.",
        "Only bids received by noon on Friday will be considered.",
        "Bids received after noon on Friday will be considered.",
    ),
    RulePair(
        "A deposit of not more than 40 pounds may be asked for the projector.",
        "For the projector a deposit of at most 40 pounds may be asked.",
        "For the projector a deposit of not less than 40 pounds may be asked.",
    ),
    RulePair(
        "A member aged 65 or over is exempt from rowing duty.",
        "Members who are at least 65 do not have to do rowing duty.",
        "Members who are under 65 are exempt from rowing duty.",
    ),
    RulePair(
        "The rare book room is open only to registered researchers.",
        "Nobody but registered researchers may enter the rare book room.",
        "Registered researchers may not enter the rare book room.",
    ),
    RulePair(
        "A suspended player must not take part in training.",
        "A suspended player is barred from taking part in training.",
        "A suspended player may take part in training.",
    ),
    RulePair(
        "Team lists must reach the secretary by 6 p.m. on Thursday.",
        "Team lists must reach the secretary not later than 6 p.m. on Thursday.",
        "Team lists must reach the secretary after 6 p.m. on Thursday.",
    ),
    RulePair(
        "The reserve fund shall never fall below 20,000 euros.",
        "The reserve fund must always be at least 20,000 euros.",
        "The reserve fund must never rise above 20,000 euros.",
    ),
    RulePair(
        "The prize may be shared between two or more rowers.",
        "The prize may be shared between at least two rowers.",
        "The prize must not be shared between two or more rowers.",
    ),
    RulePair(
        "Ein Buch darf nicht länger als drei Wochen behalten werden.",
        "Ein Buch darf höchstens 21 Tage behalten werden.",
        "Ein Buch darf länger als drei Wochen behalten werden.",
    ),
    RulePair(
        "Niemand darf öfter als zweimal hintereinander zum Kassier gewählt werden.",
        "Zum Kassier darf man höchstens zweimal hintereinander gewählt werden.",
        "Zum Kassier darf man mindestens zweimal hintereinander gewählt werden.",
    ),
    RulePair(
        "Die Mannschaft muss aus wenigstens sieben Spielern bestehen.",
        "Die Mannschaft darf nicht aus weniger als sieben Spielern bestehen.",
        "Die Mannschaft darf aus weniger als sieben Spielern bestehen.",
    ),
    RulePair(
        "Es ist untersagt, im Archiv zu essen.",
        "Im Archiv darf nicht gegessen werden.",
        "Im Archiv darf gegessen werden.",
    ),
    RulePair(
        "Die Kaution beträgt höchstens 150 Euro.",
        "Die Kaution darf 150 Euro nicht übersteigen.",
        "Die Kaution beträgt mindestens 150 Euro.",
    ),
    RulePair(
        "Ehrenmitglieder sind nicht verpflichtet, einen Beitrag zu zahlen.",
        "Ehrenmitglieder müssen keinen Beitrag zahlen.",
        "Ehrenmitglieder sind verpflichtet, einen Beitrag zu zahlen.",
    ),
    RulePair(
        "Anträge können bis zum 15. Mai eingereicht werden.",
        "Anträge dürfen spätestens am 15. Mai eingereicht werden.",
        "Anträge können erst nach dem 15. Mai eingereicht werden.",
    ),
    RulePair(
        "Gäste haben Zutritt zum Bootshaus nur in Begleitung eines Mitglieds.",
        "Ohne Begleitung eines Mitglieds haben Gäste keinen Zutritt zum Bootshaus.",
        "Gäste haben ohne Begleitung eines Mitglieds Zutritt zum Bootshaus.",
    ),
    RulePair(
        "Der Schlüssel ist nach dem Training abzugeben.",
        "Der Schlüssel muss nach dem Training abgegeben werden.",
        "Der Schlüssel muss vor dem Training abgegeben werden.",
    ),
    RulePair(
        "Die Hälfte der Plätze ist für Anfänger bestimmt.",
        "50 % der Plätze sind für Anfänger bestimmt.",
        "70 % der Plätze sind für Anfänger bestimmt.",
    ),
)
