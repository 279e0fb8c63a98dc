"""Bodies of the world that texts name without introducing them, by the short or full name in use."""

_PUBLIC = (
    "EU UN UNESCO UNICEF UNHCR UNDP NATO OECD OSCE WTO WHO IMF ILO IAEA ICAO ITU WIPO OPEC ASEAN IPCC EFTA Interpol"
    " Europol Eurojust Frontex"
)
_STANDARDS = (
    "ISO IEC IEEE IETF W3C ETSI CENELEC NIST ANSI BSI DIN AFNOR OASIS ECMA IANA ICANN ISACA OWASP WHATWG ITU-T ISO/IEC"
)
_STATES = (
    "NASA ESA CERN FBI CIA NSA FCC FDA EPA IRS OSHA FTC CDC NIH NSF DARPA NOAA USDA HMRC NHS GDS DVLA DWP DfE DHSC ONS"
    " ICO FCA PRA CMA CQC NCSC GCHQ MHRA Acas Defra DEFRA Ofcom Ofsted Ofgem Ofqual CNIL ANSSI INSEE BaFin BfDI BKA"
)
_EUROPE = "ECB EBA ESMA EIOPA EDPB EDPS EMA ENISA EASA ECHA EFSA CJEU Eurostat"
_PARLIAMENTS = "Bundestag Bundestages Bundesrat Bundesrates Bundesregierung Bundeswehr Knesset Riksdag Storting"
_BROADCASTERS = "BBC ITV NBC CBS CNN PBS NPR HBO ESPN BSkyB ARD ZDF"
_OTHERS = "IOC FIFA UEFA NFL NBA NHL MLB NCAA Greenpeace Oxfam Unicef"
# Before a further name they are part of that of a product.
KNOWN_COMPANIES = frozenset(
    [
        "Microsoft",
        "Google",
        "IBM",
        "Siemens",
        "Bosch",
        "SAP",
        "Samsung",
        "Toyota",
        "Volkswagen",
        "Facebook",
        "Intel",
        "Cisco",
        "Netflix",
        "Nokia",
        "Ericsson",
        "BMW",
        "Daimler",
        "Airbus",
        "Boeing",
        "Sony",
        "Nestlé",
        "Asda",
        "Tesco",
        "Walmart",
        "Deloitte",
        "PwC",
        "KPMG",
        "GitHub",
        "GitLab",
        "Mozilla",
        "Oracle",
        "Accenture",
        "Gartner",
        "Bloomberg",
        "Reuters",
        "Pfizer",
        "Novartis",
        "Bayer",
        "BASF",
        "Lufthansa",
        "Renault",
        "Peugeot",
        "Michelin",
        "Carrefour",
        "Unilever",
        "Vodafone",
        "HSBC",
        "Allianz",
        "AXA",
        "PayPal",
        "Uber",
        "Airbnb",
        "Spotify",
        "eBay",
        "LinkedIn",
        "Yahoo",
        "Adobe",
        "Salesforce",
        "Huawei",
        "Tencent",
        "Alibaba",
        "Panasonic",
        "Hitachi",
        "Toshiba",
        "Fujitsu",
        "Honda",
        "Nissan",
        "Hyundai",
        "Volvo",
    ]
)

KNOWN_ORGANISATIONS = frozenset(
    " ".join(
        (_PUBLIC, _STANDARDS, _STATES, _EUROPE, _PARLIAMENTS, _BROADCASTERS, _OTHERS),
    ).split()
)
# Names of two words without a word such as "Office".
KNOWN_PAIRS = frozenset(
    {
        *(
            ("Federal", "Reserve"),
            ("Ordnance", "Survey"),
            ("Red", "Cross"),
            ("Scotland", "Yard"),
            ("Companies", "House"),
        ),
        *(("Deutsche", "Bahn"), ("Deutsche", "Telekom"), ("Deutsche", "Post"), ("Amnesty", "International")),
        *(("Transparency", "International"), ("Liberal", "Democrats"), ("Goldman", "Sachs"), ("Land", "Registry")),
        *(
            ("General", "Electric"),
            ("European", "Ombudsman"),
            ("Pensions", "Regulator"),
            ("Red", "Hat"),
            ("TÜV", "Süd"),
        ),
    }
)
