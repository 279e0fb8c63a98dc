"""Held-out rules that were not used to develop grounding; see `rule_pairs`."""

from grounding_data.rule_pairs import RulePair

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
