"""Models in files, without pickle: what is loaded is data, is checked, and runs nothing.

A file is an uncompressed ``.npz``: arrays as ``a0.npy``, ``a1.npy``, ... and ``header.json`` with the version, the shape
and type of each array, and a SHA-256 of all of it. NumPy and any program for ZIP files can look into it. The sum finds
accidents; against a forger it proves nothing, so that every part is also checked for what it is.

>>> import tempfile, numpy as np
>>> from convexnovelty.estimators import OneClassSVM
>>> X = np.random.default_rng(0).standard_normal((100, 2))
>>> with tempfile.TemporaryDirectory() as folder:
...     save(OneClassSVM().fit(X), folder + "/model.npz")
...     load(folder + "/model.npz").predict([[0.5, 0.5], [9.0, 9.0]])
array([ 1, -1])
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from convexnovelty.errors import ConvexNoveltyError, InputError
from convexnovelty.model_codec import DTYPES, Decoder, Encoder
from convexnovelty.validation import Array, shown

__all__ = ["load", "read", "save", "written"]

FORMAT, VERSION = "convexnovelty model", 1
HEADER, MEMBER = "header.json", re.compile(r"a(0|[1-9][0-9]{0,5})\.npy")
MAX_BYTES = 2 * 1024**3
MAX_HEADER = 256 * 1024**2
EPOCH = (1980, 1, 1, 0, 0, 0)  # no clock in the file: the same model gives the same bytes


@contextmanager
def written(path: str | Path, *, overwrite: bool = False) -> Iterator[IO[bytes]]:
    """A binary file that appears under its name whole or not at all.

    Raises InputError if the file is there already and may not be overwritten, or its folder is not there.
    """
    target = Path(path)
    _free(target, overwrite)
    partial = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.partial")
    try:
        try:
            file = open(partial, "xb")
        except OSError as error:
            raise InputError(
                f"{target}: cannot be written ({error.strerror}); name a file in a folder of yours"
            ) from error
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _free(target, overwrite)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _free(target: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise InputError(f"{target}: a folder was found; name a file")
    if target.exists() and not overwrite:
        raise InputError(f"{target}: is there already; choose another name, or allow overwriting (--force)")


def save(estimator: Any, path: str | Path, *, notes: Mapping[str, Any] | None = None, overwrite: bool = False) -> None:
    """Write a fitted estimator of this package, or a pipeline of a scaler to deviation one and an estimator, to a file.

    Parameters
    ----------
    estimator : fitted; it is loaded with exactly the same decision function.
    path : the file; it appears whole or not at all.
    notes : plain data and arrays to keep beside the model, for :func:`read`.
    overwrite : whether a file of that name may be replaced.

    Raises
    ------
    InputError : for an estimator that is not fitted or not of this package, for one that holds a user's function or
        a classifier of another library, and for a file that is there already.
    """
    if not hasattr(estimator, "get_params") or not _is_fitted(estimator):
        raise InputError(f"estimator: {type(estimator).__name__} was found, which is not fitted; call fit first")
    encoder = Encoder()
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "model": encoder.node(estimator, "estimator")}
    header["notes"] = encoder.node(dict(notes or {}), "notes")
    header["arrays"] = [{"dtype": a.dtype.str, "shape": list(a.shape)} for a in encoder.arrays]
    members = [_npy(array) for array in encoder.arrays]
    header["sha256"] = _sum(header, members)
    with written(path, overwrite=overwrite) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, EPOCH), _canonical(header))
        for i, member in enumerate(members):
            archive.writestr(zipfile.ZipInfo(f"a{i}.npy", EPOCH), member)


def load(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Any:
    """The estimator that :func:`save` wrote, with exactly the same decision function.

    Raises InputError for whatever is no such file: another format or version, a file cut short, content of which a
    single bit was changed, larger than ``max_bytes``, or made up. What a ZIP archive holds beside its content (dates,
    attributes, bytes after its end) is not read. Nothing in the file is executed, and nothing is unpacked to disk.
    """
    return read(path, max_bytes=max_bytes)[0]


def read(path: str | Path, *, max_bytes: int = MAX_BYTES) -> tuple[Any, dict[str, Any]]:
    """The estimator and the notes of a file; errors as for :func:`load`."""
    try:
        source = Path(path)
    except TypeError as error:
        raise InputError(f"path: {shown(path)} was found; give the name of a model file") from error
    try:
        size = source.stat().st_size
    except OSError as error:
        raise InputError(f"{source}: no such model file ({error.strerror})") from error
    if size > max_bytes:
        raise InputError(f"{source}: {size} bytes were found where at most {max_bytes} are allowed; raise max_bytes")
    try:
        header, arrays = _contents(source)
        decoder = Decoder(arrays)
        model, notes = decoder.value(header["model"]), decoder.value(header["notes"])
        _probe(model)
        if not isinstance(notes, dict):
            raise InputError("notes are no mapping")
    except ConvexNoveltyError as error:
        raise InputError(f"{source}: not a model that can be used: {error}") from error
    except Exception as error:  # a made-up file may trip any constructor; the answer is the same
        reason = f"{type(error).__name__}: {error}"[:200]
        raise InputError(f"{source}: not a model that can be used; save it again ({reason})") from error
    return model, notes


def _contents(source: Path) -> tuple[dict[str, Any], list[Array]]:
    with zipfile.ZipFile(source) as archive:
        found = {info.filename: info for info in archive.infolist()}
        names = [HEADER, *(f"a{i}.npy" for i in range(len(found) - 1))]
        if len(found) != len(archive.infolist()) or set(found) != set(names):
            strange = sorted(name for name in found if name != HEADER and not MEMBER.fullmatch(name))[:3]
            raise InputError(f"members {strange or sorted(found)[:3]} were found where {HEADER} and arrays belong")
        for info in found.values():
            # Stored members cannot be larger than the file, so that no small file fills the memory.
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.file_size != info.compress_size:
                raise InputError(f"member {info.filename} is compressed or encrypted, as no model is")
        if found[HEADER].file_size > MAX_HEADER:
            raise InputError(f"the header has {found[HEADER].file_size} bytes, more than {MAX_HEADER}")
        raw = archive.read(found[HEADER])
        members = [archive.read(found[name]) for name in names[1:]]
    header = json.loads(raw.decode("ascii"), parse_constant=_refuse)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("the header is of another format")
    if header.get("version") != VERSION:
        raise InputError(f"version {header.get('version')!r} was found where this release reads version {VERSION}")
    if (
        _canonical(header) != raw
        or _sum({k: v for k, v in header.items() if k != "sha256"}, members) != header["sha256"]
    ):
        raise InputError("the SHA-256 does not fit the content: the file was damaged or changed")
    if len(header["arrays"]) != len(members):
        raise InputError("arrays are missing")
    return header, [_array(member, about) for member, about in zip(members, header["arrays"], strict=True)]


def _array(member: bytes, about: Mapping[str, Any]) -> Array:
    """One array, read by its declared type: NumPy's own reader would allocate whatever a header asks for."""
    stream = io.BytesIO(member)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise InputError("an array is of another version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.str not in DTYPES or dtype.str != about["dtype"] or list(shape) != about["shape"]:
        raise InputError(f"an array of {dtype.str} and shape {shape} was found where the header says {about}")
    data = member[stream.tell() :]
    size = 1
    for side in shape:
        size *= side
    if size * dtype.itemsize != len(data):
        raise InputError(f"{len(data)} bytes were found for an array of shape {shape}")
    array = np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C").copy(order="K")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("an array holds a value that is not finite")
    return array


def _probe(model: Any) -> None:
    """Judge one point, so that parts that do not fit one another are found now and not at the first use."""
    if not hasattr(model, "decision_function") or not _is_fitted(model):
        raise InputError(f"{type(model).__name__} was found where a fitted estimator is needed")
    *before, last = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    score = last.score_ if hasattr(last, "score_") else last.region_.decision_values
    columns, known = last.n_features_in_, _columns(last.score_ if hasattr(last, "score_") else last.region_.score.score)
    if isinstance(columns, bool) or not isinstance(columns, int) or columns != known:
        raise InputError(f"{columns!r} columns were found where the score has {known}")
    for step in (*before, last):
        names = getattr(step, "feature_names_in_", np.empty(columns))
        # A scaler that does not scale says so with None.
        units = np.ones(columns) if step is last or step.scale_ is None else step.scale_
        if step.n_features_in_ != columns or np.shape(names) != (columns,) or np.shape(units) != (columns,):
            raise InputError("names or units do not fit the columns")
    with np.errstate(all="ignore"):
        values = score(np.zeros((1, columns)))
    if np.shape(values) != (1,) or not np.isfinite(last.offset_):
        raise InputError(f"decision values of shape {np.shape(values)} and offset {last.offset_!r} were found")


def _columns(score: Any) -> int:
    """How many columns a score takes, as its own arrays say."""
    if hasattr(score, "normal"):
        return int(score.normal.shape[0])
    if hasattr(score, "center"):
        return int(score.center.shape[0])
    if hasattr(score, "inner"):
        return _columns(score.inner)
    if hasattr(score, "features"):
        members = getattr(score.features, "members", None)
        return int((members[0] if members else score.features).points.shape[1])
    if hasattr(score, "nominal"):
        return int(score.nominal.points.shape[1])
    return int(score.support.shape[1])


def _is_fitted(estimator: Any) -> bool:
    last = estimator.steps[-1][1] if getattr(estimator, "steps", None) else estimator
    return hasattr(last, "score_") or hasattr(last, "region_")


def _npy(array: Array) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _canonical(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _sum(header: Mapping[str, Any], members: list[bytes]) -> str:
    found = hashlib.sha256(_canonical(header))
    for member in members:
        found.update(len(member).to_bytes(8, "little"))
        found.update(member)
    return found.hexdigest()


def _refuse(constant: str) -> Any:
    raise InputError(f"{constant} was found in the header")
