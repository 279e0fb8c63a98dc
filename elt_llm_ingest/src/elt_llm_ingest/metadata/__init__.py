"""What a chunk's own text tells of it: words, dates, organisations and topics, one extractor a file."""
