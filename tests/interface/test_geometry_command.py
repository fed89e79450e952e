"""The command ``muphy-lb geometry``."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image as Picture

from muphy_lb.geometry.__main__ import main, opening_from_text
from muphy_lb.geometry.store import read_geometry
from tests.unit.geometry.images import write_vti
from tests.unit.geometry.test_gmy import duct as gmy_duct

INLET = "name=inlet kind=inlet centre_m=-0.5,2,2 normal=1,0,0"


@pytest.fixture
def duct(tmp_path):
    flags = np.zeros((5, 5, 6), np.uint8)
    flags[1:-1, 1:-1] = 1
    np.save(tmp_path / "duct.npy", flags)
    return tmp_path / "duct.npy"


def test_the_command_writes_the_nodes(duct, tmp_path):
    assert main([str(duct), str(tmp_path / "out.h5"), "--spacing-m", "1", "--opening", INLET]) == 0
    nodes = read_geometry(tmp_path / "out.h5")
    assert (nodes.n_nodes, nodes.openings[0].name) == (54, "inlet")


def test_the_command_says_what_it_found(duct, tmp_path, capsys):
    main([str(duct), str(tmp_path / "out.h5"), "--spacing-m", "1", "--opening", INLET, "--periodic", "z"])
    text = capsys.readouterr().out
    for part in (
        "6 x 5 x 5",
        "54 fluid, porosity 0.3600",
        "periodic: z",
        "inlet (inlet): 9 opening voxels",
        "54 of 54",
    ):
        assert part in text


def test_openings_can_come_from_a_file(duct, tmp_path):
    (tmp_path / "o.toml").write_text(
        '[[openings]]\nname = "a"\nkind = "outlet"\ncentre_m = [5.5, 2, 2]\nnormal = [-1, 0, 0]\n'
    )
    words = ["--spacing-m", "1", "--openings", str(tmp_path / "o.toml"), "--opening", INLET]
    assert main([str(duct), str(tmp_path / "out.h5"), *words]) == 0
    assert [o.name for o in read_geometry(tmp_path / "out.h5").openings] == ["inlet", "a"]


def test_raw_options_reach_the_reader(tmp_path):
    np.full((2, 3, 4), 5, ">u2").tofile(tmp_path / "a.raw")
    words = ["--shape-zyx", "2", "3", "4", "--dtype", ">u2", "--header-bytes", "0"]
    words += ["--fluid-value", "5", "--origin-m", "-1", "2", "3", "--spacing-m", "1"]
    assert main([str(tmp_path / "a.raw"), str(tmp_path / "out.h5"), *words]) == 0
    nodes = read_geometry(tmp_path / "out.h5")
    assert (nodes.n_nodes, nodes.origin_m) == (24, (-1.0, 2.0, 3.0))


def test_flags_can_be_read_as_they_are(duct, tmp_path):
    assert main([str(duct), str(tmp_path / "out.h5"), "--fluid-value", "flags", "--spacing-m", "1"]) == 0


def test_shapes_take_options(tmp_path):
    words = [
        "--spacing-m",
        "1",
        "--shape-option",
        "side=3",
        "--shape-option",
        "axis='y'",
        "--shape-option",
        "ends='open'",
    ]
    assert main(["shape:square_duct", str(tmp_path / "out.h5"), *words]) == 0
    nodes = read_geometry(tmp_path / "out.h5")
    assert (nodes.shape, len(nodes.openings)) == ((5, 40, 5), 2)


def test_islands_are_dropped_unless_all_are_kept(tmp_path):
    flags = np.zeros((3, 3, 9), np.uint8)
    flags[1, 1, [1, 2, 3, 7]] = 1
    np.save(tmp_path / "islands.npy", flags)
    counts = []
    for keep in ("largest", "all"):
        main([str(tmp_path / "islands.npy"), str(tmp_path / "out.h5"), "--spacing-m", "1", "--keep", keep])
        counts.append(read_geometry(tmp_path / "out.h5").n_nodes)
    assert counts == [3, 4]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--spacing", "a"], "'a' must be a valid number [m]"),
        (["--opening", "inlet"], "'inlet' is not name=value"),
        (["--opening", "name=a kind=inlet centre_m=1,2 normal=1,0,0"], "centre_m has 2 numbers"),
        (["--openings", "nothing.toml"], "cannot read nothing.toml"),
        (["--dtype", "uint8"], "unknown name 'dtype'"),
        (["--shape-option", "radius"], "write name=value"),
        (["--fluid-value", "7"], "selects no voxel"),
        (["--keep", "some"], "invalid choice"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(duct, tmp_path, capsys, words, text):
    try:
        code = main([str(duct), str(tmp_path / "out.h5"), "--spacing-m", "1", *words])
    except SystemExit as stop:
        code = stop.code
    error = capsys.readouterr().err
    assert code == 2
    assert text in error
    assert error.count("\n") == 1


def test_the_module_runs_as_a_program(tmp_path):
    command = [sys.executable, "-m", "geometry", str(tmp_path / "nothing.npy"), str(tmp_path / "out.h5")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "No such file" in result.stderr


def test_an_opening_can_be_written_in_words():
    opening = opening_from_text("'name=left_end' kind=outlet centre_m=1,2,3 normal=0,0,-2 radius_m=0.1")
    assert (opening.name, opening.normal, opening.radius_m) == ("left_end", (0.0, 0.0, -1.0), 0.1)


@pytest.mark.parametrize("words", [[], ["out.h5"], ["--find-openings"]])
def test_that_the_input_is_missing_is_said_before_all_else(capsys, words):
    assert main(["missing.stl", *words]) == 2
    assert capsys.readouterr().err == "geometry: cannot read missing.stl: No such file or directory; check the path\n"


def test_an_input_is_not_overwritten(duct, capsys):
    assert main([str(duct), str(duct)]) == 2
    assert "it must end with .h5" in capsys.readouterr().err and np.load(duct).shape == (5, 5, 6)


def bare_inputs(folder):
    """Inputs that state no voxel edge, by their names, with the options that they need otherwise."""
    solid = np.zeros((3, 4, 5), np.uint8)
    solid[1] = 1
    np.save(folder / "a.npy", solid)
    np.savez(folder / "a.npz", solid)
    solid.tofile(folder / "a.raw")
    for name in ("a.tif", "pages/1.tif"):
        (folder / name).parent.mkdir(exist_ok=True)
        Picture.fromarray(solid[1]).save(folder / name)
    kinds = "DimSize = 5 4 3\nElementType = MET_UCHAR\nElementDataFile = a.raw\n"
    (folder / "a.mhd").write_text(f"NDims = 3\n{kinds}")
    (folder / "a.nhdr").write_text(
        "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 5 4 3\nencoding: raw\ndata file: a.raw\n"
    )
    write_vti(folder / "a.vti", solid)
    text = (folder / "a.vti").read_text()
    (folder / "a.vti").write_text(text.replace('Spacing="0.5 0.5 0.5"', ""))
    (folder / "a.gmy").write_bytes(gmy_duct())
    (folder / "a.xyz").write_text("0 0 0 0.4\n1 1 1 0.4\n")
    options = {"a.raw": ["--shape-zyx", "3", "4", "5", "--dtype", "uint8"], "a.vti": ["--unit", "m"]}
    names = ("a.npy", "a.npz", "a.raw", "a.tif", "pages", "a.mhd", "a.nhdr", "a.vti", "a.gmy", "a.xyz")
    return {str(folder / name): options.get(name, []) for name in names} | {"shape:pipe": []}


@pytest.mark.parametrize("finds", [False, True])
def test_a_voxel_edge_is_never_made_up_and_the_remedy_works(tmp_path, capsys, finds):
    for name, options in bare_inputs(tmp_path).items():
        words = [name, *(["--find-openings"] if finds else [str(tmp_path / "out.h5")]), *options]
        assert main(words) == 2, name
        error = capsys.readouterr().err
        assert name in error and error.endswith("; give it: --spacing-m 5e-06\n") and error.count("\n") == 1, name
        remedy = error.split(": ")[-1].split()
        with_edge = main([*words, *remedy])
        assert with_edge == 0 or name.endswith(".xyz"), name  # spheres of a metre are too large for such voxels
        assert "--spacing-m" not in capsys.readouterr().err, name


def test_missing_options_of_a_raw_file_are_spelled_as_the_command_takes_them(tmp_path, capsys):
    np.ones((400, 4, 1), np.uint8).tofile(tmp_path / "a.raw")
    assert main([str(tmp_path / "a.raw"), str(tmp_path / "out.h5"), "--spacing-m", "1"]) == 2
    assert capsys.readouterr().err.endswith("give it: --shape-zyx 400 400 400 --dtype uint8\n")


def test_a_channel_of_a_stack_is_chosen(tmp_path, capsys):
    pages = [Picture.fromarray(np.full((3, 4), k % 2, np.uint8)) for k in range(6)]
    text = "ImageJ=1.53\nimages=6\nchannels=2\nslices=3\n"
    pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:], description=text)
    words = [str(tmp_path / "a.tif"), str(tmp_path / "out.h5"), "--spacing-m", "1"]
    assert main(words) == 2
    assert capsys.readouterr().err.endswith("give it: --channel 0\n")
    assert main([*words, "--channel", "1"]) == 0
    assert read_geometry(tmp_path / "out.h5").n_nodes == 36
