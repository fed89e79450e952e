"""DICOM series and TIFF files: hostile elements and tags, and mangled bytes."""

import random
import struct
import warnings
from functools import partial
from pathlib import Path

import pydicom

from tests.fuzz import hostile
from tests.fuzz.damages import Damage
from tests.fuzz.samples import BY_NAME
from tests.fuzz.tables import ANY

SLICE = BY_NAME["ct/slice3.dcm"]
TIFFS = tuple(BY_NAME[name] for name in ("image.tif", "packed.tif", "pages/page3.tif"))
WHOLE = ("Rows", "Columns", "BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation", "SamplesPerPixel")
DECIMAL = ("PixelSpacing", "ImagePositionPatient", "ImageOrientationPatient", "RescaleSlope", "RescaleIntercept")
DECIMAL += ("SliceThickness", "NumberOfFrames", "InstanceNumber")
TEXTS = ("SeriesInstanceUID", "PhotometricInterpretation", "SeriesDescription", "SOPClassUID")
DECIMAL_TEXTS = ("0", "1", "-1", "7", "1e-9", "1e300", "-1e300", "9" * 16, "1e400", "nan", "inf", "30.5")
TAG_VALUES = (0, 1, 2, 3, 7, 8, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1)
TYPES, COUNT_PLACE, VALUE_PLACE = (1, 2, 3, 4, 5, 11, 12, 13, 16, 99), 4, 8


def dicom(draw: random.Random) -> Damage:
    """A slice of a series with a hostile element, without one, or mangled."""
    seed, kind = draw.random(), draw.randrange(4)
    if kind == 0:
        return Damage(SLICE, "mangled", partial(hostile.mangle, seed=seed), ANY)
    key = draw.choice((WHOLE, DECIMAL, DECIMAL, TEXTS)[draw.randrange(4)])
    return Damage(SLICE, f"{key} changed", partial(_change, key=key, seed=seed), ANY)


def _change(path: Path, key: str, seed: float) -> None:
    draw, data = random.Random(seed), pydicom.dcmread(path)
    try:
        with warnings.catch_warnings(action="ignore"):
            _set_element(data, key, draw)
            data.save_as(path)
    except (TypeError, ValueError, OverflowError, AttributeError):  # pydicom refuses to write it
        hostile.mangle(path, seed)


def _set_element(data: pydicom.Dataset, key: str, draw: random.Random) -> None:
    """Leave an element out, or give it a hostile value."""
    if key in data and draw.random() < 0.15:
        delattr(data, key)
    elif key in WHOLE:
        setattr(data, key, draw.choice((0, 1, 3, 7, 8, 12, 16, 32, 64, 255, 32768, 65535)))
    elif key in DECIMAL:
        words = [draw.choice(DECIMAL_TEXTS) for _ in range(draw.choice((1, 1, 2, 3, 6)))]
        data.add_new(key, pydicom.datadict.dictionary_VR(key), words)
    else:
        setattr(data, key, draw.choice(("", "1.2.3", "x" * 64, "MONOCHROME1", "RGB", "\x1b[31m")))


def tiff(draw: random.Random) -> Damage:
    """A TIFF file with a hostile entry of one of its lists of tags, or mangled."""
    sample, seed = draw.choice(TIFFS), draw.random()
    if draw.random() < 0.4:
        return Damage(sample, "mangled", partial(hostile.mangle, seed=seed), ANY)
    return Damage(sample, "a tag changed", partial(_change_tag, seed=seed), ANY)


def _change_tag(path: Path, seed: float) -> None:
    draw, content = random.Random(seed), bytearray(path.read_bytes())
    order, lists = "<" if content[:2] == b"II" else ">", []
    place = struct.unpack_from(order + "I", content, 4)[0]
    while place:
        lists.append(place)
        n = struct.unpack_from(order + "H", content, place)[0]
        place = struct.unpack_from(order + "I", content, place + 2 + 12 * n)[0]
    place = draw.choice(lists)
    n = struct.unpack_from(order + "H", content, place)[0]
    entry = place + 2 + 12 * draw.randrange(n)
    match draw.randrange(5):
        case 0:
            struct.pack_into(order + "H", content, entry + 2, draw.choice(TYPES))
        case 1:
            struct.pack_into(order + "I", content, entry + COUNT_PLACE, draw.choice(TAG_VALUES))
        case 2:
            struct.pack_into(order + "H", content, place, draw.choice((0, 1, n + 1, 65535)))
        case 3:
            struct.pack_into(
                order + "I", content, place + 2 + 12 * n, draw.choice((0, 8, lists[0], lists[-1], 2**32 - 1))
            )
        case _:
            struct.pack_into(order + "I", content, entry + VALUE_PLACE, draw.choice(TAG_VALUES))
    path.write_bytes(content)
