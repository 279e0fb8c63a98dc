"""Bodies of the world that texts name without introducing them, by their own short or full name."""

KNOWN_ORGANISATIONS = frozenset(
    """
    EU UN UNESCO UNICEF UNHCR NATO OECD OSCE WTO WHO IMF ILO IAEA ICAO ITU WIPO OPEC ASEAN INTERPOL Interpol Europol
    ISO IEC IEEE IETF W3C ETSI CENELEC NIST ANSI BSI DIN OASIS ECMA IANA ICANN ITU-T
    BBC NBC CBS CNN ITV ARD ZDF NASA ESA CERN FBI CIA NSA FCC FDA EPA IRS SEC
    HMRC NHS DEFRA Defra Ofcom Ofsted Ofgem GCHQ UNHCR ECB EBA ESMA EMA ENISA Eurostat
    Microsoft IBM Siemens Bosch SAP Samsung Toyota Volkswagen Facebook YouTube Wikipedia Greenpeace UEFA FIFA
    """.split()
) - {"WHO", "SEC", "DIN", "EBA", "YouTube", "Wikipedia"}
