"""Find definitions in a document: `find.find_definitions` collects those of every kind of place.

Running text ("A Club means ...", `defining_sentences`, with the rules for its subject in `subject`), lists (`lists`),
tables (`tables`), marked terms such as <dfn> (`markup`), and short forms in brackets (`abbreviations`).
"""
