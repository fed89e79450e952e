"""The numbers of five papers, as printed there; None where a paper has none.

J. Toelke, Comput. Visual. Sci. 13, 29 (2010; online 2008). M. Bernaschi, M. Fatica, S. Melchionna, S. Succi,
E. Kaxiras, Concurrency Computat.: Pract. Exper. 22 (2010; online 2009), doi 10.1002/cpe.1466. C. Obrecht, F. Kuznik,
B. Tourancheau, J.-J. Roux, Comput. Fluids 54, 118 (2012). J. Bang, J. Salomonsen, bachelor's thesis, University of
Copenhagen (2011). M. Schreiber, P. Neumann, S. Zimmer, H.-J. Bungartz, Procedia Comput. Sci. 4, 984 (2011).
"""

from muphy_lb.bench.papers.table import PaperTable

TOELKE, BERNASCHI, OBRECHT = "Toelke 2008", "Bernaschi et al. 2009", "Obrecht et al. 2012"
BANG, SCHREIBER = "Bang and Salomonsen 2011", "Schreiber et al. 2011"

TOELKE_KERNELS = ("LBGKL", "LBGK", "MRT")
TOELKE_MESHES, TOELKE_THREADS = (512, 1024, 2048, 3072), (32, 64, 128, 192, 256)
TOELKE_BYTES = 76  # of a node update, in single precision: 10 numbers read and 9 written
TOELKE_OPERATIONS = {"LBGKL": 90, "LBGK": 130, "MRT": 260}  # floating-point operations of a node update
_CPU, _GPU = "Intel Core 2 Duo (2.4 GHz)", "nVIDIA 8800 Ultra"
TOELKE_1 = PaperTable(
    *(TOELKE, "Table 1", "arithmetic peak [Gflop/s]; bandwidth in theory and of a copy [GB/s]"),
    ("peak", "bandwidth", "copy"),
    {_CPU: (38.4, 8.5, 5.2), "NEC SX-8R A (8 CPUs)": (281.0, 563.0, None), _GPU: (410.0, 104.0, 87.0)},
    "ours: peak and copy measured (multiply-adds; on a CPU a product of matrices); prices are left out",
)
TOELKE_2 = PaperTable(
    *(TOELKE, "Table 2", "driven cavity 2048 x 2048, million node updates per second"),
    TOELKE_KERNELS,
    {_CPU: (35.0, 25.0, 23.0), _GPU: (670.0, 568.0, 527.0)},
)
TOELKE_3 = PaperTable(
    *(TOELKE, "Table 3", "share of the arithmetic peak and of the copy bandwidth [%]"),
    ("peak, LBGKL", "copy, LBGKL", "peak, MRT", "copy, MRT"),
    {_CPU: (8.0, 51.0, 16.0, 34.0), _GPU: (15.0, 59.0, 33.0, 46.0)},
    f"ours by the paper's counts: {TOELKE_BYTES} bytes an update; operations {TOELKE_OPERATIONS}",
)
TOELKE_5 = PaperTable(
    *(TOELKE, "Table 5", "18 x 18 cylinders, MRTL, million node updates per second by threads of a block"),
    tuple(map(str, TOELKE_THREADS)),
    {
        "512 x 512": (180.0, 218.0, 217.0, 221.0, 294.0),
        "1024 x 1024": (281.0, 398.0, 391.0, 357.0, 360.0),
        "2048 x 2048": (274.0, 430.0, 466.0, 434.0, 438.0),
        "3072 x 3072": (248.0, 413.0, 481.0, 452.0, 452.0),
    },
    "the paper counts solid nodes too, 12.6 % of all; ours are fluid nodes only",
)

_TABLE_I_COLUMNS = ("s for 1000 launches", "GB/s", "MFLUPS")
TABLE_I_KERNELS = (
    "load / local store",
    "load / scattered store",
    "load / compute / local store",
    "load / compute / scattered store",
)
TABLE_I = PaperTable(
    *(BERNASCHI, "Table I", "62 x 30 x 30 nodes on a C870"),
    _TABLE_I_COLUMNS,
    dict(
        zip(
            TABLE_I_KERNELS,
            ((0.15, 57.0, None), (0.9, 14.0, None), (0.33, None, 170.0), (1.0, None, 56.0)),
            strict=True,
        )
    ),
    "GB/s and MFLUPS: the paper's text beside the table; caches hold the whole box on a GPU of today",
)
TABLE_I_ALIGNED = PaperTable(
    *(BERNASCHI, "Table I, aligned box", "64 x 32 x 32 nodes on a C870 (text beside the table)"),
    _TABLE_I_COLUMNS,
    {TABLE_I_KERNELS[-1]: (None, None, 80.0)},
)
SCATTERING = PaperTable(
    *(BERNASCHI, "Table I, cost of scattering", "time with scattered over time with local stores"),
    ("without arithmetic", "with arithmetic"),
    {"C870, 62 x 30 x 30": (6.0, 3.0)},
)
GPU_OVER_CPU = PaperTable(
    *(BERNASCHI, "GPU over CPU", "speed of a GPU over that of all cores of a CPU (text of Section 5)"),
    ("62 x 30 x 30", "coronary artery, 89 x 234 x 136"),
    {"GeForce 8600 over Core 2, 2 cores": (4.0, 4.0), "C870 over Xeon E5405, 4 cores": (10.0, 8.0)},
    "ours: load, compute and scattered store of Table I on the card and on its host",
)
TABLE_II = PaperTable(
    *(BERNASCHI, "Table II", "vessel of 4 million nodes, 10,000 steps"),
    ("GPUs", "MFLUPS", "s"),
    {"C870": (1.0, 53.0, 760.0), "GT200 (2)": (2.0, 252.0, 159.0), "GT200 (8)": (8.0, 955.0, 41.9)},
    "the paper's vessel is not at hand; ours is the built-in artery of as many nodes; seconds of 10,000 steps",
)
BOX_RUN = PaperTable(
    *(BERNASCHI, "256 x 128 x 128", "regular box, 1000 steps"),
    ("GPUs", "MFLUPS", "s"),
    {"GT200 (8)": (8.0, None, 7.5), "BlueGene/L (512 nodes)": (None, None, 21.0)},
    "the paper's seconds are the whole run's; ours are those of the steps",
)

OBRECHT_EDGES = (96, 128, 160, 192, 224, 256)
OBRECHT_4 = PaperTable(
    *(OBRECHT, "Table 4", "heated cubic cavity, MRT and temperature, by edge"),
    tuple(map(str, OBRECHT_EDGES)),
    {
        "C1060: MLUPS": (319.0, 247.0, 305.0, 335.0, 309.0, 301.0),
        "C1060: GB/s": (61.2, 47.4, 58.6, 64.3, 59.3, 57.8),
        "C1060: % of the copy bandwidth": (83.6, 64.7, 79.9, 87.8, 81.0, 78.9),
        "two Xeon E5560, Palabos, 257^3: MLUPS": (None, None, None, None, None, 16.7),
    },
    "GB/s by the paper's count of 48 numbers an update",
)

_CPU_S = (0.7387, 1.2402, 2.0613, 3.2078, 4.6712, 6.6664, 8.9342, 13.2026, 16.6939, 21.0698, 25.1939, 30.2296, 35.7117)
_GPU_S = (
    *(0.2286, 0.2496, 0.3586, 0.4771, 0.6556, 0.8729, 1.1074, 1.4072, 1.6963, 2.0761, 2.4504, 2.7760, 3.2112, 3.5856),
    *(3.9686, 4.5473, 5.2331, 5.5932, 6.0989, 6.9182, 7.3248, 8.2046, 8.7211, 9.5812, 10.1104, 10.7163, 11.3998),
    *(12.2868, 13.3103, 14.1798, 15.0643, 15.7993),
)
#: Mean of three runs of 1000 steps of an open channel [s], by size and backend: NumPy on a Core i7 of 2.66 GHz
#: (Table 5), PyCUDA on a GeForce GT 330M (Table 6).
BANG_SECONDS = {
    "numpy": {16 * (k + 1): seconds for k, seconds in enumerate(_CPU_S)},
    "cuda": {16 * (k + 1): seconds for k, seconds in enumerate(_GPU_S)},
}
BANG_SIZES = (16, 32, 64, 128, 208, 256, 512)
BANG_5_6 = PaperTable(
    *(BANG, "Tables 5 and 6, Fig. 15", "open channel, seconds for 1000 steps, by size"),
    tuple(map(str, BANG_SIZES)),
    {
        "Core i7 2.66 GHz, NumPy": tuple(map(BANG_SECONDS["numpy"].get, BANG_SIZES)),
        "GeForce GT 330M, PyCUDA": tuple(map(BANG_SECONDS["cuda"].get, BANG_SIZES)),
    },
    "theirs: D2Q9, periodic and driven in one column; ours: an inlet and an outlet, double precision",
)
BANG_SPEED_UP = PaperTable(
    *(BANG, "Tables 5 and 6, speed-up", "seconds of NumPy over seconds of the GPU, by size"),
    tuple(map(str, BANG_SIZES)),
    {
        "PyCUDA over NumPy": tuple(
            BANG_SECONDS["numpy"][n] / BANG_SECONDS["cuda"][n] if n in BANG_SECONDS["numpy"] else None
            for n in BANG_SIZES
        )
    },
)

BANG_13 = PaperTable(
    *(BANG, "Fig. 13", "largest difference of the velocities of programs after 100 steps [lattice units]"),
    ("numpy and cpu", "numpy and cuda"),
    {"by eye, arrows agree": (None, None)},
)

SCHREIBER_EDGES, SCHREIBER_THREADS = (32, 64, 96, 128), (32, 64, 128, 160, 256)
SCHREIBER_5 = PaperTable(
    *(SCHREIBER, "Fig. 5", "driven cavity, A-A, million node updates per second by work group"),
    tuple(map(str, SCHREIBER_THREADS)),
    {},
    "the figure has curves, the text no numbers",
)
SCHREIBER_6 = PaperTable(
    *(SCHREIBER, "Fig. 6", "breaking dam, a third full, million cell updates per second by work group"),
    tuple(map(str, SCHREIBER_THREADS)),
    {"GTX 285: 128^3, A-B": (None, None, None, 129.0, None)},
    "of all cells of the box; a group size for each kernel by itself added 3; other sizes are curves",
)
SCHREIBER_7 = PaperTable(
    *(SCHREIBER, "Fig. 7", "share of a step of each kernel, dam in 128^3 [%]"),
    ("A-B", "A-A"),
    {},
    "the figure has bars, the text no numbers; interior: collision and streaming; exchange: of mass",
)
SCHREIBER_SCENE = PaperTable(
    *(SCHREIBER, "Section 5", "dam in 64 x 64 x 32 in real time"),
    ("steps a second", "million cells a second", "% of the GPU's time"),
    {"GTX 285": (862.0, 113.0, 43.0)},
    "862 steps a second are 2.32 times as fast as the water; the rest of the GPU's time was left for drawing",
)
SCHREIBER_SHARE = PaperTable(
    *(SCHREIBER, "Section 6", "speed of the free surface over that of the plain flow [%]"),
    ("of all cells",),
    {"GTX 285": (20.0,)},
    "ours: dam over driven cavity in the largest box, both by all cells",
)

TABLES = (
    *(
        TOELKE_1,
        TOELKE_2,
        TOELKE_3,
        TOELKE_5,
        TABLE_I,
        TABLE_I_ALIGNED,
        SCATTERING,
        GPU_OVER_CPU,
        TABLE_II,
        BOX_RUN,
        OBRECHT_4,
    ),
    *(BANG_5_6, BANG_SPEED_UP, BANG_13, SCHREIBER_5, SCHREIBER_6, SCHREIBER_7, SCHREIBER_SCENE, SCHREIBER_SHARE),
)
