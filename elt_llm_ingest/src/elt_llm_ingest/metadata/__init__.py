"""Extract metadata from a chunk's own text: word count, dates, organisations and topics."""
