"""The words by which a name tells that it is an organisation's."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# After a name; each makes the words before it a company or an association.
LEGAL_FORMS = _set(
    "Ltd Limited PLC Plc plc LLC LLP LP Inc Incorporated Corp GmbH gGmbH mbH AG KG KGaA OHG SE SARL SAS SpA BV NV ApS"
    " AB Oy OÜ UAB VšĮ Pty S.A. B.V. N.V. S.p.A. S.L. A.S."
)

# The last word of a name ("Grounds Committee") or the word before "of" ("Bank of ...").
HEADS = _set(
    "University College Academy Institute Institution Faculty Polytechnic Conservatory"
    " Ministry Department Directorate Bureau Agency Authority Inspectorate Secretariat Administration Government"
    " Parliament Senate Congress Assembly Council Committee Subcommittee Commission Board Panel Tribunal Court Office"
    " Association Federation Confederation Society Union Alliance Coalition Consortium Guild Forum Chamber Party"
    " Foundation Trust Fund Charity Church Museum Hospital Laboratory Observatory"
    " Bank Company Corporation Cooperative Airlines Airways Holdings Industries Technologies Enterprises Laboratories"
    " Pharmaceuticals Brewery Press Productions Pictures Studios Records Comics Entertainment"
    " Publishing Publications Magazines Archives Institutes Ombudsman Diocese Archdiocese Seminary"
    " Railways Railroad Motors Breweries Therapeutics Biosciences Semiconductor Microsystems Logistics Bancorp"
    " Network Club Team Army Navy Police Constabulary Orchestra"
    " Organisation Organization Partnership"
)
# Those that need two words before them: one alone more often makes a thing ("Age Group", "Box Office").
LONG_HEADS = _set(
    "School Service Group Centre Center League Force Exchange House Library Gallery Convention Distribution Community"
)
# Some need one of these right before them.
NEEDED_BEFORE = {
    "Exchange": _set("Stock Commodity Securities"),
    "Force": _set("Task Air Police Defence Defense Border"),
    "House": _set("Publishing Auction Clearing"),
    "Library": _set("National Public State County City University"),
    "Gallery": _set("National Art Portrait"),
}
# Words of a name of which the last one is joined by "&".
PARTNERS = _set("Sons Co Partners Associates Brothers Bros Manufacturing Company Daughters Söhne Cie Fils")
# What belongs to a body may follow its name: "the Audit Committee Chair", "European Union Treaties".
BELONGINGS = _set(
    "Code Guidance Guidelines Report Reports Regulation Regulations Directive Directives Treaties Treaty Handbook"
    " Website Headquarters Chair Chairman Chairwoman Director Secretary Treasurer Spokesman Officials"
)
HEADS_BEFORE_OF = HEADS | _set(
    "School Division League House Centre Center Order Library Gallery Campaign Centers Centres Archive"
)

# Heads whose field may be a list: "Department for Environment, Food and Rural Affairs".
LISTING_HEADS = _set(
    "Ministry Department Directorate Directorate-General Office Committee Commission Council Institute"
)
# Heads with a single place or field after "of": what follows "and" is somebody else.
SINGLE_HEADS = _set("University Bank Club Company Church Court Parliament Government Army")

GERMAN_HEADS = _set(
    "Universität Hochschule Akademie Institut Ministerium Behörde Amt Gericht Gerichtshof Gerichtshofs Kommission Rat"
    " Verein Verband Bund Gesellschaft Stiftung Kammer Partei Gewerkschaft Bank Börse Parlament Bundestag Ausschuss"
    " Front Kirche"
)
GERMAN_ENDINGS = (
    "gesellschaft",
    "verband",
    "verein",
    "ministerium",
    "partei",
    "universität",
    "hochschule",
    "behörde",
    "agentur",
    "anstalt",
    "rechnungshof",
    "kirche",
    "museum",
    "gericht",
    "gerichtshof",
    "börse",
    "kammer",
    "stiftung",
    "institut",
    "akademie",
    "kommission",
    "ausschuss",
    "genossenschaft",
    "gewerkschaft",
    "bank",
    "amt",
)
# Whose place follows without a link: "Amtsgericht Hamburg".
GERMAN_PLACED = (
    *("universität", "hochschule", "landesbank", "amtsgericht", "landgericht", "landesgericht", "verwaltungsgericht"),
    *("sparkasse", "stadtwerke", "klinikum", "finanzamt", "staatsanwaltschaft", "polizeipräsidium", "handelskammer"),
)
# The last part of a name such as "Fraunhofer-Gesellschaft".
GERMAN_HYPHENATED = ("-Gesellschaft", "-Institut", "-Instituts", "-Stiftung", "-Verband", "-Verein", "-Kommission")
# Companies that no "and" joins to what stands before: "Alpha Air and Beta Airways".
NOT_JOINED = _set("Airways Airlines Bank Corporation")
GERMAN_STATE = ("Bundes", "Landes", "Reichs")
# Only after one of these: many common words end so.
GERMAN_STATE_ENDINGS = (*GERMAN_ENDINGS, "tag", "rat", "wehr", "polizei", "regierung", "armee")
# What may follow "of" or "der" after a head without being a field: "House of Cards", "Universität des Jahres".
NO_FIELD = _set("Ansicht Meinung Auffassung Lage Welt Zeit Regel Jahres Cards Excellence Conduct Merit Honour Honor")
# A university's things: what stands before them is the name.
THINGS = _set("Project Team Hunt Program Programme Award Prize Scholarship Campus Survey Study Report Conference")
# "Firma X": what follows is a name.
GERMAN_KINDS = ("firma", "konzern", "konzerns", "verlag", "gesellschaft", "hersteller", "partei", "unternehmen")

# Those that are French wherever they stand: "Fédération Internationale de ..." in an English text.
SURELY_FRENCH = _set("Fédération Société Confédération Ministère Université Académie École")

FRENCH_HEADS = _set(
    "Université École Académie Institut Ministère Agence Autorité Conseil Commission Comité Cour Chambre Association"
    " Fédération Confédération Société Syndicat Union Fondation Banque Musée Assemblée Office Parlement"
)

# A name is no name if nothing but these stands before its head: "the Local Authority", "Each Member Club".
GENERIC = _set(
    "Member Members Home Away Senior Junior Youth Local National Regional Central Other Host Visiting New Old Former"
    " Relevant Competent Supervisory Working Third Own Full Joint General Main Small Large Annual Public Private Head"
    " Parent Limited Trade Credit Customer Shared Back Front Social Neural West East North South Left Right World"
    " Soviet Personal Data High Primary Secondary Age Box Service Management State Civil Political Investment Pension"
    " Club Company Bank Committee Board Association Party Department Council College School Union The"
    " Directors Trustees Governors Ministers Members Officers Rule Rules Section Part Appendix Schedule Chapter Table"
    " City County Town Borough District Municipal Parish Contracting Issuing Awarding Responsible Notified Planning"
    " Certification Approved Licensing Domain Name Content Delivery Web Cloud Virtual Area Wide Message Directory"
    " Access Internet Customer Application Women Men Girls' Boys' Staff Medical Personnel Training Player Patient"
    " Works One Two Three Four Five Division Project Single Double Common Each Every Appropriate"
)
# Bodies even though every word of their name is common.
PROPER_ANYWAY = _set("Federation Association Commission Parliament Congress Assembly Archives")
# Names of which every word is common, but which everybody knows.
ALWAYS = frozenset(
    {
        *(
            "Home Office",
            "Post Office",
            "World Bank",
            "State Department",
            "High Court",
            "General Motors",
            "Trade Commission",
        ),
        *(
            "Federal Trade Commission",
            "World Wide Web Consortium",
            "World Trade Organization",
            "World Trade Organisation",
            "Council of Ministers",
        ),
    }
)
NEVER = frozenset(
    {
        "General Assembly",
        "Local Association",
        "Regional Association",
        "Member Association",
        "Parent Company",
        "Soviet Union",
        "European Parliament Act",
        "Russian Federation",
        "Swiss Confederation",
        "Privacy Office",
    }
)

# Verbs and roles that begin a sentence or a heading right before a name.
STARTERS = _set(
    "Contact See Ask Join Call Tell Write Email Visit Dear Following Within Without During Although Because While"
    " Once Until Unless Via According Despite Today Yesterday Meanwhile However Therefore Former Chair President"
)
