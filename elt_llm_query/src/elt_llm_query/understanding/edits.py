"""Ways to mistype a word: how far two words are apart, and every word that is one mistake away.

Source: Damerau, "A technique for computer detection and correction of spelling errors", CACM 1964: a mistake is a
letter left out, put in, replaced or swapped with the next.
"""

import string


def distance(one: str, other: str, most: int) -> int:
    """Mistakes that lie between two words; `most` + 1 where there are more than that."""
    before: list[int] = []
    previous = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, opposite in enumerate(other, 1):
            cost = min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (letter != opposite))
            swapped = row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == opposite
            current.append(min(cost, before[column - 2] + 1) if swapped else cost)
        if min(current) > most:
            return most + 1
        before, previous = previous, current
    return min(previous[-1], most + 1)


def one_mistake_away(word: str) -> list[str]:
    """Every other word that differs by one mistake, but keeps the first letter; swapped letters first.

    Letters are those of ASCII and the word's own.
    """
    letters = sorted({*string.ascii_lowercase, *word})
    splits = [(word[:place], word[place:]) for place in range(1, len(word) + 1)]
    swapped = [left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1]
    shorter = [left + right[1:] for left, right in splits if right]
    longer = [left + letter + right for left, right in splits for letter in letters]
    replaced = [left + letter + right[1:] for left, right in splits if right for letter in letters]
    return [made for made in dict.fromkeys((*swapped, *shorter, *longer, *replaced)) if made != word]


def is_swapped(one: str, other: str) -> bool:
    """Whether they differ by two neighbouring letters that have changed places."""
    places = [place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right]
    return (
        len(one) == len(other)
        and len(places) == 2
        and places[1] == places[0] + 1
        and one[places[0]] == other[places[1]]
        and one[places[1]] == other[places[0]]
    )
