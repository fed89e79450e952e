"""Values that no reader should trust: numbers, texts and lists as TOML writes them, and how one is drawn."""

import random
from pathlib import Path

NUMBERS = (
    *("0", "-1", "1", "2", "3", "7", "0.5", "-0.0", "1e-3", "1e3", "1_000", "1000000", "1e9", "1e15", "1e-15"),
    *("nan", "inf", "-inf", "1e-300", "5e-324", "1e300", "1e308", "-1e308", "1e-38", "3.5e38", "1e400"),
    *("2147483648", "4294967296", "9223372036854775807", "-9223372036854775808", "9223372036854775808"),
    *("1" + "0" * 30, "9" * 4000, "9" * 5000, "0x" + "f" * 2000, "0b" + "1" * 70),
)
TEXTS = (
    *('""', '"a"', "'open", '"' + "x" * 300 + '"', '"a\\u0000b"', '"\\u001b[31mred"', '"=HYPERLINK(1)"', '"²"', '"٣"'),
    *('"../../etc/passwd"', '"/dev/zero"', '"."', '"nowhere"', '"$\\\\undefined{$"', '"%n%s%d%01000000d"', '"a\\nb"'),
    *('"{0}"', '"x"', '"xyz"', '"mm"', '"open"', '"periodic"', '"🩸"'),
)
OTHERS = (
    *("true", "false", "[]", "{}", "[1]", "[1, 2]", "[1, 2, 3]", "[[1, 2], [3]]", "{a = 1}", '["a"]', "[1, 'a', {}]"),
    *("[[0, 0, 0], [1, 1, 1]]", "[nan, 0, 0]", "[1e300, 0, 0]", "[0, 0, 0]", "[0.0, 0.0, 1.0]", "[-1, -1, -1]"),
    *("1979-05-27", "07:32:00", "[" * 50 + "]" * 50, "[" * 5000 + "]" * 5000, "{a = {a = {a = {a = 1}}}}", "[true]"),
)


def value(draw: random.Random) -> str:
    """A hostile value, or, as often, a number of any size, which comes further."""
    group = draw.choice((NUMBERS, NUMBERS, TEXTS, OTHERS, (), (), (), ()))
    return draw.choice(group) if group else number(draw)


def number(draw: random.Random) -> str:
    """A number as a user may write it, of any size."""
    if draw.random() < 0.3:
        return str(draw.randrange(-3, 40))
    return f"{draw.choice((1, 1, 1, -1)) * draw.random() * 10.0 ** draw.randrange(-9, 10):.6g}"


def mangled(content: bytes, draw: random.Random) -> bytes:
    """Bytes with one thing done to them that needs no knowledge of the format."""
    content = bytearray(content or b"\n")
    place = draw.randrange(len(content))
    length = draw.choice((1, 2, 4, 8, 40, 200))
    match draw.randrange(8):
        case 0:
            content[place : place + length] = draw.randbytes(length)
        case 1:
            content[place] ^= 1 << draw.randrange(8)
        case 2:
            del content[place : place + length]
        case 3:
            content[place:place] = content[place : place + length] * draw.choice((1, 3, 100))
        case 4:
            content[place : place + length] = draw.choice((b"\0", b"\xff", b"\x7f", b" ", b"\n", b"-")) * length
        case 5:
            content[:] = content[:place]
        case 6:
            swap_word(content, draw)
        case _:
            head = min(400, len(content))
            for _ in range(draw.choice((1, 4, 16))):
                content[draw.randrange(head)] = draw.randrange(256)
    return bytes(content)


def mangle(path: Path, seed: float, times: int = 1) -> None:
    """The file with so many things done to it that need no knowledge of the format; the same for the same seed."""
    draw, content = random.Random(seed), path.read_bytes()
    for _ in range(times):
        content = mangled(content, draw)
    path.write_bytes(content)


def swap_word(content: bytearray, draw: random.Random) -> None:
    """Put a hostile number in the place of a word, which lies between white space, quotes, commas or signs."""
    ends = [k for k, byte in enumerate(content) if byte in b' \n\t",=:;<>()[]{}'] or [len(content)]
    k = draw.randrange(len(ends))
    first = ends[k - 1] + 1 if k else 0
    content[first : ends[k]] = draw.choice(NUMBERS).encode()
