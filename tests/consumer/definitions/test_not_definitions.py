"""Texts that only look like definitions give no terms."""

import pytest
from row_jobs.definitions import terms_in

DISTRACTORS = """
By any means it must be delivered.|This means that the order is void.|It means a lot to the staff.
Payment by other means is not accepted.|He has the means to pay.|If "late" means after noon, the order is void.
What does "late" mean?|The term of the contract is five years.|The means of transport is chosen by the buyer.
A late delivery means a fine of ten pounds.|Silence means consent.|Failure to pay means the loss of the deposit.
The table below means nothing to the board.|This does not mean that it is free.|Section 5 refers to the fees.
The rule refers to all members who have paid.|She is defined by her work.|The amount is defined in Rule 3.
As defined in clause 4, the fee is due.|Terms and conditions apply.|The Board is the body which decides.
A Late Entry is a matter for the board to decide.|Which means that nobody may enter.|The price includes tax.
In these cases, the order means that stock is moved.|Note: the office is closed on Monday.|It was meant to help.
Fees (see Schedule 2) are due in June.|The chair (Ms A. B. Smith) opens the meeting.|The fee (£10) is paid once.
The form (PDF) is on the site.|Send it to the office (London).|The "best" team wins.|He said "yes" and left.
The so-called "fast track" is closed.|The mean of the values is used.|A player means business when he asks twice.
That means the supplier pays.|These words mean what they say.|Winning means everything to them.
Being late means waiting outside.|A red light means stop.|More stock means more rent.
Whether this means a refund is for the court.|The meaning of the clause is disputed.
Words defined in the Code have the same meaning here.|An open day is a good way to meet members.
A Member is entitled to a vote at the meeting.|A Licence is required for the sale of alcohol.
A Club is a proud thing to own.|The candidate stands for election in May.|The colours denote the level of risk.
Monday: 9 to 5|Telephone: 0555 010 0177|Step 1: the form is sent to the office.|- **Note**: the office is closed.
Das bedeutet, dass der Antrag abgelehnt wird.|Unter anderem ist die Gebühr zu zahlen.|Was bedeutet das?
Unter der Leitung der Vorsitzenden wird die Sitzung eröffnet.|Auf diese Weise ist der Antrag gestellt.
Über jede Sitzung ist eine Niederschrift anzufertigen, die zu zeichnen ist.|Vor jeder Fahrt ist die Karte zu prüfen.
Darüber hinaus ist eine Karte ein Ausweis, der im Amt gilt.|Außerdem ist das Haus ein Ort, der allen gehört.
Formulare sind eine Art Akte und aufzubewahren, die im Amt liegt.|Akten sind die Blätter zu nennen, die im Amt liegen.
Im Allgemeinen bedeutet das Wort in einem Satz, dass er gilt.|Für jeden Antrag ist ein Blatt anzulegen, das bleibt.
Im Folgenden wird die Lage der Stadt als „gut“ bezeichnet.|Wichtig ist, wer kommt.|Als Letztes gilt es, sie zu zählen.
"Good morning" is a phrase that is used by the porter.|Each order is a separate contract.
The Council has the meaning of the word in mind.|A Fine is payable within a week.|The terms are defined in Part A.
In this Code, you and your refer to the person who reads it.|The report is used to describe the year.
Extraction or re-use of the whole or a large part of the Works into a new Register is a Derived Register that is free.
Maybe there is a person who knows the answer.|A bit of a problem are parcels which were lost by the post.
Below are a few facts that a log has.|Nachfolgend sind einige Angaben, die das Amt braucht.
"""


@pytest.mark.parametrize("text", [one for line in DISTRACTORS.strip().split("\n") for one in line.split("|")])
def test_no_term_is_read_from_a_sentence_that_defines_nothing(text: str) -> None:
    assert terms_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Item | Amount\nEntry | 10 pounds that are paid\n",
        "Name | Description\nJohn | A man who came in June\n",
        "A3 Definitions | 8\nA4 Abbreviations | 10\n",
        "Contents\n\nDefinitions ........ 8\nFees ........ 12\n",
        "# Terms and Conditions\n\nPayment: due in ten days.\nDelivery: by post only.\n",
        "# General Terms\n\nA. Severability: If a rule is invalid, the other rules apply.\n\nB. Law: That of Kent.\n",
        "# Definitions of Duties\n\n- Chair: leads the board.\n",
        "# Fees\n\n- Gates open - two hours before the start\n- Shop closes - one hour after the end\n",
        "# Definitions\n\nTable 3: Terms\n\nSome text.\n\n**Abb. 2.1**: Begriffe der Ordnung\n",
        "# Definitions\n\n**view**: Grammar:\n",
        "# Roles\n\n- **Chair**: leads the board.\n- **Clerk**: keeps the books.\n- **Guest**: may speak.\n",
    ],
)
def test_no_term_is_read_from_tables_and_lists_that_contain_no_definitions(text: str) -> None:
    assert terms_in(text) == []


def test_page_headers_and_footers_are_not_glossary_entries() -> None:
    edge = "\n\nThe Glossary - of Things\n{}\n\n\f"
    text = "# Glossary\n\nAsset: a thing that is owned.\n" + edge.format(1) + "Audit: a check of the books.\n"
    text += edge.format(2) + "Budget: a plan of money.\n" + edge.format(3) + "Cost: what is paid.\n"
    assert terms_in(text) == ["Asset", "Audit", "Budget", "Cost"]
