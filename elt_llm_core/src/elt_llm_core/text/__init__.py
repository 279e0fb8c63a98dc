"""Pure functions on text: tokens, sentences, normal forms, stems."""
