"""Whole inputs of every format, small, for the fuzzer to damage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import meshio
import numpy as np
from PIL import Image as Picture

from tests.unit.geometry.dicom import write_series
from tests.unit.geometry.images import write_nifti, write_nrrd, write_vti
from tests.unit.geometry.surfaces import Surface, box, tube
from tests.unit.geometry.test_gmy import duct
from tests.unit.geometry.test_surface import QUADS, obj_text, ply
from tests.unit.geometry.vtp import write_vtp

IMAGE = (np.arange(6 * 8 * 10) % 3).astype(np.int16).reshape(6, 8, 10)
GREY = np.linspace(-1.0, 1.0, IMAGE.size, dtype=np.float32).reshape(IMAGE.shape)
EDGE = ("--spacing-m", "1")
SURFACE = ("--unit", "m", "--spacing-m", "0.25")
RAGGED = [*QUADS[:5], [1, 3, 7], [1, 7, 5]]
GEOMETRY, SOLVER = "geometry", "muphy-lb"

CASE = """\
title = "a fuzzed case"

[geometry]
file = "vessel.tags"

[[openings]]
name = "inlet"
velocity_m_s = 0.02
waveform = {file = "wave.csv"}

[[openings]]
name = "outlet"
pressure_pa = 0.0

[fluid]
density_kg_m3 = 1060.0
kinematic_viscosity_m2_s = 4e-5

[lattice]
lattice_velocity = 0.05

[compute]
backend = "numpy"

[run]
steps = 4

[output]
picture = false
vtk = false
"""
WAVE = "time_s,factor\n0.0,1.0\n0.5,0.5\n0.75,0.7\n1.0,1.0\n"
OPENINGS = (
    '{"openings": [{"name": "in", "kind": "inlet", "centre_m": [0, 0, 0.5], "normal": [0, 0, 1], "radius_m": 2}]}'
)


@dataclass(frozen=True)
class Sample:
    """A whole input.

    Attributes:
        name: of the file that is damaged; a folder's file goes by ``folder/file``.
        write: called with a folder, writes the input there.
        options: of the command line behind the input.
        target: what the command line names as the input, if not the file itself.
        program: ``"geometry"`` or ``"muphy-lb"``.
        is_counted: whether the format says how much it holds, so that a truncated file can be told from a whole one.
        is_bare: whether any bytes of the right number are a whole file.
        ends_with: the file that its values end, behind which nothing may follow; empty if there is none.
        also_names: a word one of which a message must name where it does not name the file.
    """

    name: str
    write: Callable[[Path], object]
    options: Sequence[str] = ()
    target: str = ""
    program: str = GEOMETRY
    is_counted: bool = True
    is_bare: bool = False
    ends_with: str = ""
    also_names: Sequence[str] = ()

    def arguments(self) -> list[str]:
        """The command line, without the program."""
        target = self.target or self.name
        if self.program == SOLVER:
            return ["run", target, "-o", "out", *self.options]
        return [target, "out.h5", *self.options]


def _metaimage(path: Path, values: np.ndarray, kind: str, data: str = "LOCAL") -> None:
    header = f"NDims = 3\nElementSpacing = 1 1 1\nDimSize = 10 8 6\nElementType = {kind}\nElementDataFile = {data}\n"
    path.write_bytes(header.encode() + (values.tobytes() if data == "LOCAL" else b""))
    if data != "LOCAL":
        (path.parent / data).write_bytes(values.tobytes())


def _pages(values: np.ndarray) -> list[Picture.Image]:
    return [Picture.fromarray(page.astype(np.uint8)) for page in values]


def _tiff(path: Path, **options) -> None:
    first, *others = _pages(IMAGE)
    first.save(path, save_all=True, append_images=others, **options)


def _tiff_folder(folder: Path) -> None:
    folder.mkdir()
    for k, page in enumerate(_pages(IMAGE)):
        page.save(folder / f"page{k}.tif")


def write_mesh(path: Path, surface: Surface, **options) -> None:
    """A surface in the format of the path's ending."""
    meshio.write(path, meshio.Mesh(surface.points, [("triangle", surface.triangles.astype(np.int32))]), **options)


def vtu_text(n: int = 3) -> str:
    """A row of ``n`` voxels as hexahedra of an unstructured grid."""
    corners = [(x, y, z) for k in range(n) for z in (0, 1) for y, x in ((0, k), (0, k + 1), (1, k + 1), (1, k))]
    points = " ".join(f"{x} {y} {z}" for x, y, z in corners)
    return (
        f'<VTKFile type="UnstructuredGrid" byte_order="LittleEndian"><UnstructuredGrid><Piece NumberOfPoints="{8 * n}"'
        f' NumberOfCells="{n}"><Points><DataArray type="Float32" NumberOfComponents="3" format="ascii">{points}'
        '</DataArray></Points><Cells><DataArray type="Int32" Name="connectivity" format="ascii">'
        f'{" ".join(map(str, range(8 * n)))}</DataArray><DataArray type="UInt8" Name="types" format="ascii">'
        f"{' '.join(['12'] * n)}</DataArray></Cells></Piece></UnstructuredGrid></VTKFile>"
    )


def _case(folder: Path) -> None:
    tags = {0: "inlet:inlet", 9: "outlet:outlet"}
    lines = [f"{x} {y} {z} {tags.get(x, 'fluid')}" for x in range(10) for y in range(1, 5) for z in range(1, 5)]
    (folder / "vessel.tags").write_text("\n".join(["10 6 6 solid", "spacing_m 1e-3", *lines]) + "\n")
    (folder / "case.toml").write_text(CASE)
    (folder / "wave.csv").write_text(WAVE)


def _with_openings(folder: Path) -> None:
    write_mesh(folder / "tube.stl", tube(), binary=True)
    (folder / "ends.json").write_text(OPENINGS)


def _vtp(storage: str) -> Callable[[Path], object]:
    return lambda folder: write_vtp(folder / "box.vtp", box().points, box().triangles.tolist(), storage=storage)


CASE_WORDS = (
    "case.toml",
    "nowhere.tags",
    ".tags input",
    "folder .",
    "openings",
    "lattice",
    "fluid",
    "run.",
    "geometry.",
    "compute",
    "output",
    "wave.csv",
)

SAMPLES = (
    Sample("image.npy", lambda f: np.save(f / "image.npy", IMAGE), EDGE, ends_with="image.npy"),
    Sample("grey.npy", lambda f: np.save(f / "grey.npy", GREY), ("--fluid-below", "0", *EDGE), ends_with="grey.npy"),
    Sample("image.npz", lambda f: np.savez_compressed(f / "image.npz", IMAGE), EDGE),
    Sample(
        "image.raw",
        lambda f: IMAGE.tofile(f / "image.raw"),
        ("--shape-zyx", "6", "8", "10", "--dtype", "int16", "--header-bytes", "0", *EDGE),
        is_bare=True,
        ends_with="image.raw",
    ),
    Sample("image.mha", lambda f: _metaimage(f / "image.mha", IMAGE, "MET_SHORT"), ends_with="image.mha"),
    Sample(
        "grey.mha", lambda f: _metaimage(f / "grey.mha", GREY, "MET_FLOAT"), ("--otsu", "below"), ends_with="grey.mha"
    ),
    Sample(
        "image.mhd",
        lambda f: _metaimage(f / "image.mhd", IMAGE, "MET_SHORT", "voxels.dat"),
        ends_with="voxels.dat",
    ),
    Sample("image.nrrd", lambda f: write_nrrd(f / "image.nrrd", IMAGE), EDGE, ends_with="image.nrrd"),
    Sample(
        "packed.nrrd", lambda f: write_nrrd(f / "packed.nrrd", IMAGE, encoding="gzip"), EDGE, ends_with="packed.nrrd"
    ),
    Sample(
        "image.nhdr",
        lambda f: write_nrrd(f / "image.nhdr", IMAGE, data_file="voxels.dat"),
        EDGE,
        ends_with="voxels.dat",
    ),
    Sample("image.nii", lambda f: write_nifti(f / "image.nii", IMAGE, np.eye(3, 4)), ends_with="image.nii"),
    Sample("image.nii.gz", lambda f: write_nifti(f / "image.nii.gz", IMAGE)),
    Sample("image.hdr", lambda f: write_nifti(f / "image.hdr", IMAGE), ends_with="image.img"),
    Sample("image.tif", lambda f: _tiff(f / "image.tif"), EDGE),
    Sample("packed.tif", lambda f: _tiff(f / "packed.tif", compression="tiff_lzw"), EDGE),
    Sample("pages/page3.tif", lambda f: _tiff_folder(f / "pages"), EDGE, target="pages"),
    Sample("ct/slice3.dcm", lambda f: write_series(f / "ct", IMAGE), target="ct"),
    Sample("image.vti", lambda f: write_vti(f / "image.vti", IMAGE), ("--unit", "mm")),
    Sample("packed.vti", lambda f: write_vti(f / "packed.vti", IMAGE, "appended", True), ("--unit", "mm")),
    Sample("row.vtu", lambda f: (f / "row.vtu").write_text(vtu_text()), ("--unit", "mm")),
    Sample("vessel.tags", _case, is_counted=False),
    Sample(
        "pack.xyz",
        lambda f: (f / "pack.xyz").write_text("0 0 0 0.4\n1 0 0 0.4\n0 1 0 0.4\n1 1 1 0.4\n"),
        ("--spacing-m", "0.1"),
        is_counted=False,
    ),
    Sample("duct.gmy", lambda f: (f / "duct.gmy").write_bytes(duct()), ("--spacing-m", "1e-4"), ends_with="duct.gmy"),
    Sample("box.stl", lambda f: write_mesh(f / "box.stl", box(), binary=True), SURFACE),
    Sample("text.stl", lambda f: write_mesh(f / "text.stl", box(), binary=False), SURFACE, is_counted=False),
    Sample("tube.stl", _with_openings, ("--unit", "m", "--spacing-m", "0.25", "--find-openings")),
    Sample("box.obj", lambda f: write_mesh(f / "box.obj", box()), SURFACE, is_counted=False),
    Sample("box.ply", lambda f: write_mesh(f / "box.ply", box(), binary=False), SURFACE),
    Sample("quads.obj", lambda f: (f / "quads.obj").write_text(obj_text()), SURFACE, is_counted=False),
    Sample("lists.ply", lambda f: (f / "lists.ply").write_bytes(ply("ascii")), SURFACE),
    Sample("packed.ply", lambda f: (f / "packed.ply").write_bytes(ply("binary_little_endian", RAGGED)), SURFACE),
    Sample("box.vtp", _vtp("appended zlib"), SURFACE),
    Sample(
        "ends.json",
        _with_openings,
        ("--openings", "ends.json", *SURFACE),
        target="tube.stl",
        also_names=["opening 'in'"],
    ),
    Sample("case.toml", _case, program=SOLVER, is_counted=False, also_names=CASE_WORDS),
    Sample("wave.csv", _case, target="case.toml", program=SOLVER, is_counted=False, also_names=CASE_WORDS),
)
BY_NAME = {sample.name: sample for sample in SAMPLES}
