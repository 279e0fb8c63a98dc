"""Ways to damage a file: its bytes, as disks and networks do, or its members, streams and tags."""

import base64
import re
from collections.abc import Callable
from random import Random
from zlib import compressobj

from malformed.seeds import HTML, MODEL, Members, drawio, packed, pdf, pdf_objects, stream

Damage = Callable[[Random, bytes], bytes]
ENTITY_BOMB = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    + "]>"
)
ENTITY_FILE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a9 SYSTEM "file:///etc/passwd">]>'
_DECLARATION = re.compile(rb"^<\?xml[^>]{0,200}\?>\s{0,20}")
_NUMBER = re.compile(rb"[0-9]{1,9}")
_TAG = re.compile(rb"<[^<>]{1,400}>")


def truncate(random: Random, data: bytes) -> bytes:
    """Keep only the start."""
    return data[: random.randrange(len(data))]


def flip_bits(random: Random, data: bytes) -> bytes:
    """Flip up to 64 bits."""
    damaged = bytearray(data)
    for _ in range(random.randint(1, 64)):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def splice(random: Random, data: bytes) -> bytes:
    """Copy one piece over another."""
    size = random.randint(1, max(1, len(data) // 4))
    start, to = random.randrange(len(data)), random.randrange(len(data))
    return data[:to] + data[start : start + size] + data[to + size :]


def cut_out(random: Random, data: bytes) -> bytes:
    """Remove a piece."""
    start = random.randrange(len(data))
    return data[:start] + data[start + random.randint(1, max(1, len(data) // 3)) :]


def repeat(random: Random, data: bytes) -> bytes:
    """Repeat a piece many times."""
    start = random.randrange(len(data))
    return data[:start] + data[start : start + 200] * random.randint(2, 300) + data[start:]


def zero(random: Random, data: bytes) -> bytes:
    """Fill a piece with zeros, as a disk does after a crash."""
    start, size = random.randrange(len(data)), random.randint(1, max(1, len(data) // 2))
    return data[:start] + bytes(min(size, len(data) - start)) + data[start + size :]


def mix_encodings(random: Random, data: bytes) -> bytes:
    """Write the second half in another encoding than the first."""
    middle = random.randrange(len(data))
    text = data[middle:].decode("utf-8", "replace")
    return data[:middle] + text.encode(random.choice(("utf-16", "utf-32", "cp037", "utf-7")), "replace")


def noise(random: Random, data: bytes) -> bytes:
    """Keep the first bytes, then append noise."""
    return data[: random.choice((0, 4, 16))] + random.randbytes(random.randint(0, 5000))


OUTSIDE: tuple[Damage, ...] = (truncate, flip_bits, splice, cut_out, repeat, zero, mix_encodings, noise)


def huge_numbers(random: Random, data: bytes) -> bytes:
    """Replace some numbers by huge ones."""
    huge = random.choice((b"999999999", b"-1", b"2147483648", b"1e308", b"9" * 400, b"0"))
    share = random.choice((0.02, 0.2, 1.0))
    return _NUMBER.sub(lambda match: bytes(huge) if random.random() < share else match.group(), data)


def drop_tags(random: Random, data: bytes) -> bytes:
    """Remove some tags."""
    share = random.choice((0.02, 0.2, 0.5))
    return _TAG.sub(lambda match: b"" if random.random() < share else match.group(), data)


def swap_tags(random: Random, data: bytes) -> bytes:
    """Replace some tags by other tags of the file."""
    tags = _TAG.findall(data) or [b"<x>"]
    share = random.choice((0.02, 0.2, 0.5))
    return _TAG.sub(lambda match: random.choice(tags) if random.random() < share else match.group(), data)


def nest(random: Random, data: bytes) -> bytes:
    """Nest one tag thousands of times in itself."""
    found: list[bytes] = _TAG.findall(data)
    tags = [tag for tag in found if tag[1:2] not in {b"/", b"?", b"!"} and tag[-2:-1] != b"/"] or [b"<x>"]
    tag = random.choice(tags)
    place = data.find(tag)
    return data[:place] + tag * random.choice((300, 3000, 60_000)) + data[place:]


def add_entities(random: Random, data: bytes) -> bytes:
    """Add a document type with an exponential or external entity, and a reference to it."""
    prologue = random.choice((ENTITY_BOMB, ENTITY_FILE)).encode()
    bare = _DECLARATION.sub(b"", data)
    place = bare.find(b">") + 1
    return prologue + bare[:place] + b"&a9;" + bare[place:]


INSIDE: tuple[Damage, ...] = (
    *(truncate, flip_bits, splice, cut_out, repeat, zero, mix_encodings),
    *(huge_numbers, drop_tags, swap_tags, nest, add_entities),
)


def damage_package(random: Random, members: Members) -> tuple[str, bytes]:
    """Build a valid zip package whose members are damaged; return the kind of damage and the bytes."""
    damaged = dict(members)
    names = [name for name in members if name.endswith((".xml", ".rels", ".xhtml", ".opf")) and members[name]]
    action = random.randrange(10)
    name = random.choice(names)
    if action == 0:
        del damaged[name]
        return "missing-member", packed(damaged)
    if action == 1:
        other = random.choice(names)
        damaged[name], damaged[other] = members[other], members[name]
        return "swapped-members", packed(damaged)
    way = random.choice(INSIDE)
    for chosen in random.sample(names, min(len(names), random.choice((1, 1, 3)))):
        damaged[chosen] = way(random, members[chosen])
    return f"member-{way.__name__}", packed(damaged)


def damage_pdf(random: Random) -> tuple[str, bytes]:
    """Damage a PDF in its streams, its objects or its cross-reference table."""
    objects = pdf_objects()
    action = random.choice(("stream", "object", "references", "offsets", "trailer"))
    number = random.randrange(len(objects))
    if action == "stream":
        content = b"BT /F 11 Tf 40 740 Td (" + b"ship " * 400 + b") Tj ET"
        objects[random.choice((6, 8, 10))] = stream(random.choice(INSIDE)(random, content))
    elif action == "object":
        objects[number] = random.choice(INSIDE)(random, objects[number])
    elif action == "references":
        objects = [re.sub(rb"[0-9]{1,3} 0 R", lambda _: b"%d 0 R" % random.randint(0, 12), held) for held in objects]
    elif action == "offsets":
        return action, pdf(objects, offsets_off_by=random.choice((-9, 7, 10**8)))
    else:
        return action, pdf(objects, trailer=random.choice((b"/Encrypt 5 0 R", b"/Prev 9", b"/Size -4", b"/Root 9 0 R")))
    return action, pdf(objects)


def damage_html(random: Random) -> tuple[str, bytes]:
    """Damage the tags of a page."""
    way = random.choice(INSIDE)
    return f"tags-{way.__name__}", way(random, HTML.encode())


def damage_drawio(random: Random) -> tuple[str, bytes]:
    """Damage the model of a diagram before or after it is compressed into a file."""
    way = random.choice(INSIDE)
    if random.random() < 0.3:
        packer = compressobj(9, wbits=-15)
        deflated = packer.compress(MODEL.encode()) + packer.flush()
        return f"deflated-{way.__name__}", drawio(base64.b64encode(way(random, deflated)))
    return f"model-{way.__name__}", drawio(way(random, MODEL.encode()), deflated=random.random() < 0.5)
