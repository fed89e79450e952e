"""Small DICOM series, written with pydicom."""

import numpy as np
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

AXIAL = (1, 0, 0, 0, 1, 0)
SERIES = "1.2.3"


def write_slice(path, pixels, position, orientation=AXIAL, **elements):
    """A slice of (ny, nx) uint16 pixels, the first at ``position`` [mm]; ``elements`` change its header."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = CTImageStorage
    meta.MediaStorageSOPInstanceUID = f"1.2.3.{abs(hash(path.name)) % 10**8}"
    meta.TransferSyntaxUID = elements.pop("TransferSyntaxUID", ExplicitVRLittleEndian)
    data = FileDataset(path, {}, file_meta=meta, preamble=b"\0" * 128)
    data.SOPClassUID, data.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    data.Rows, data.Columns = pixels.shape
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
    data.BitsAllocated = data.BitsStored = 16
    data.HighBit, data.PixelRepresentation = 15, 0
    data.SeriesInstanceUID, data.SeriesDescription, data.PixelSpacing = SERIES, "angiography", [0.5, 0.5]
    data.ImagePositionPatient, data.ImageOrientationPatient = list(position), list(orientation)
    data.PixelData = np.ascontiguousarray(pixels, "<u2").tobytes()
    for name, value in elements.items():
        setattr(data, name, value)
    data.save_as(path, enforce_file_format=True)
    return path


def write_series(folder, values, distance=0.5, **elements):
    """A folder of slices of (nz, ny, nx) values along z, named so that names and places run against each other."""
    folder.mkdir(exist_ok=True)
    for k, pixels in enumerate(values):
        write_slice(folder / f"slice{len(values) - k}.dcm", pixels, (10.0, 20.0, 30.0 + distance * k), **elements)
    return folder
