"""Pure functions on text: sentences, normal forms, stems, languages, outlines and quotes."""
