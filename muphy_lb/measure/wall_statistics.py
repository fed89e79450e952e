"""Statistics of the wall shear stress and of its indices over parts of the wall, weighted by area."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from muphy_lb.case.wall_regions import WallRegionSection, WallThresholdsSection
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.measure.wall_areas import UNLABELLED, WallAreas

PERCENTILES = (5, 50, 95, 99)
WHOLE = "all walls"
"""Name of the part that is everything; no name of a case has a space in it."""

COLUMNS = ("wall", "quantity", "area_m2", "mean", "min", *(f"p{number}" for number in PERCENTILES), "max")
BEYOND = ("threshold", "area_beyond_m2", "share_beyond")


class Quantity(NamedTuple):
    """A quantity on the wall.

    Attributes:
        name: in the summary; the unit is in it.
        field: its name in files of fields.
        unit: its unit.
        title: in tables.
        threshold: its threshold, None for none.
        is_low: whether what lies below the threshold is of interest, rather than what lies above.
    """

    name: str
    field: str
    unit: str
    title: str
    threshold: Callable[[WallThresholdsSection], float | None] = lambda thresholds: None
    is_low: bool = False


STRESS = Quantity("magnitude_pa", "wall_shear_stress", "Pa", "wall shear stress [Pa]")
INDICES = {
    "tawss": Quantity(
        "time_averaged_pa",
        "time_averaged_wall_shear_stress",
        "Pa",
        "time-averaged, TAWSS [Pa]",
        lambda thresholds: thresholds.low_tawss_pa,
        is_low=True,
    ),
    "osi": Quantity(
        "oscillatory_index",
        "oscillatory_shear_index",
        "1",
        "oscillatory index, OSI",
        lambda thresholds: thresholds.high_osi,
    ),
    "rrt": Quantity(
        "relative_residence_time_1_pa",
        "relative_residence_time",
        "1/Pa",
        "relative residence time, RRT [1/Pa]",
        lambda thresholds: thresholds.rrt_1_pa,
    ),
    "ecap": Quantity(
        "activation_potential_1_pa",
        "endothelial_cell_activation_potential",
        "1/Pa",
        "activation potential, ECAP [1/Pa]",
        lambda thresholds: thresholds.high_ecap_1_pa,
    ),
    "transwss": Quantity(
        "transverse_pa",
        "transverse_wall_shear_stress",
        "Pa",
        "transverse, transWSS [Pa]",
        lambda thresholds: thresholds.high_transwss_pa,
    ),
}
"""The quantities of the attributes of :class:`muphy_lb.measure.wall_indices.WallIndices`."""


def weighted_statistics(values: np.ndarray, area: np.ndarray) -> dict[str, float]:
    """Mean, smallest and largest value and percentiles of (m,) values, each standing for an area; at least one area is
    not 0."""
    values, area = values[area > 0.0], area[area > 0.0]
    marks = np.quantile(values, np.array(PERCENTILES) / 100.0, weights=area, method="inverted_cdf")
    record = {"mean": float((values * area).sum() / area.sum()), "min": float(values.min()), "max": float(values.max())}
    return record | {f"p{number}": float(mark) for number, mark in zip(PERCENTILES, marks, strict=True)}


def part_record(
    quantities: Mapping[Quantity, np.ndarray], area_m2: np.ndarray, mask: np.ndarray, thresholds: WallThresholdsSection
) -> dict:
    """Area, number of nodes and statistics of each quantity (m,) over the part of the wall that ``mask`` marks."""
    total_m2 = float(area_m2[mask].sum())
    record: dict = {"area_m2": total_m2, "n_nodes": int(mask.sum())}
    if not total_m2 > 0.0:
        return record
    for quantity, values in quantities.items():
        record[quantity.name] = found = weighted_statistics(values[mask], area_m2[mask])
        threshold = quantity.threshold(thresholds)
        if threshold is not None:
            is_beyond = values < threshold if quantity.is_low else values > threshold
            beyond_m2 = float(area_m2[mask & is_beyond].sum())
            found |= dict(zip(BEYOND, (threshold, beyond_m2, beyond_m2 / total_m2), strict=True))
    return record


def in_region(section: WallRegionSection, points_m: np.ndarray) -> np.ndarray:
    """(m,) mask of the points (m, 3) [m] that lie in a region of the case."""
    if section.axis_m is None:
        low, high = (np.array(corner) for corner in section.box_m or ())
        return np.all((points_m >= low) & (points_m <= high), axis=1)
    first, last = (np.array(end) for end in section.axis_m)
    arm, length = points_m - first, float(np.linalg.norm(last - first))
    along = arm @ (last - first) / length
    mask = (along >= 0.0) & (along <= length)
    if section.radius_m is not None:
        mask &= np.linalg.norm(arm - np.outer(along, (last - first) / length), axis=1) <= section.radius_m
    return mask


def node_positions_m(nodes: NodeList, voxel: np.ndarray) -> np.ndarray:
    """(m, 3) centres [m] of voxels of a geometry."""
    return np.asarray(nodes.origin_m) + nodes.spacing_m * voxel_coordinates(voxel, nodes.shape)


def parts_of_wall(
    areas: WallAreas, counted: np.ndarray, names: Sequence[str], regions: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Masks (m,) of the parts of the wall by name: all that is counted, each labelled wall of it, each region whole.

    Args:
        areas: of the wall's nodes.
        counted: (m,) mask of the nodes that the statistics count.
        names: of the labelled walls.
        regions: mask of each region of the case.
    """
    labelled = {name: counted & (areas.label == number) for number, name in enumerate(names)}
    if labelled and (counted & (areas.label == UNLABELLED)).any():
        labelled["unlabelled walls"] = counted & (areas.label == UNLABELLED)
    return {WHOLE: counted, **labelled, **regions}


def statistics_table(parts: Mapping[str, Mapping]) -> str:
    """The records of the parts of a wall as CSV: a line for each part and quantity."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, *BEYOND))
    for name, record in parts.items():
        for quantity in (STRESS, *INDICES.values()):
            found = record.get(quantity.name)
            if found is not None:
                numbers = (found[key] for key in COLUMNS[3:])
                beyond = (found.get(key, "") for key in BEYOND)
                writer.writerow((name, quantity.name, record["area_m2"], *numbers, *beyond))
    return text.getvalue()
