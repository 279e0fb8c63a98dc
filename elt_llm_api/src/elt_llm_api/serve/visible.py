"""Characters that cannot be seen but change what is: shown by their number."""

# Left-to-right and right-to-left marks, embeddings, overrides and isolates (CVE-2021-42574), and line and paragraph
# separators, which are line ends for scripts alone.
_TURNING = (0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_KEPT = (0x09, 0x0A, 0x0D)
_CONTROLS = tuple(code for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in _KEPT)
_HIDDEN = (*range(0xE0000, 0xE0080), 0xFEFF, *range(0xFFF9, 0xFFFC))  # tags, which spell words nobody sees
_SURROGATES = tuple(range(0xD800, 0xE000))  # half a character: no UTF-8 can hold it
_SHOWN = {code: f"⟨U+{code:04X}⟩" for code in (*_TURNING, *_CONTROLS, *_HIDDEN, *_SURROGATES)}


def made_visible(text: str) -> str:
    """The text with such characters as ⟨U+202E⟩; line ends and tabs stay, and what joins letters (U+200C, U+200D)."""
    return text.translate(_SHOWN)
