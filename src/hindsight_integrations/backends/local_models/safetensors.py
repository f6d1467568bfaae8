"""Reading a .safetensors file with numpy: 8 bytes of header length, a JSON header, then the tensors' bytes.

Format: huggingface/safetensors, README "Format". Written for files of one shard; BF16 and FP8 are not numpy's.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

Tensor = npt.NDArray[Any]

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U8": "|u1",
}  # fmt: skip
LENGTH_BYTES = 8


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Every tensor of a file, by name; read-only views of one buffer.

    Raises:
        ValueError: the file is cut short, is not safetensors, or holds numbers numpy does not have.
    """
    content = path.read_bytes()
    start = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "little")
    if len(content) < LENGTH_BYTES or len(content) < start:
        raise ValueError("the header is cut short")
    header = json.loads(content[LENGTH_BYTES:start])
    if not isinstance(header, dict):
        raise ValueError("the header is not a table of tensors")  # noqa: TRY004 - bad content, as the docstring says
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    return {name: _tensor(name, entry, memoryview(content)[start:]) for name, entry in entries.items()}


def _tensor(name: str, entry: dict[str, object], data: memoryview) -> Tensor:
    """One tensor, if its header entry is sound and its bytes are there."""
    try:
        dtype = np.dtype(DTYPES[cast("str", entry["dtype"])])
        shape = tuple(int(size) for size in cast("list[int]", entry["shape"]))
        first, last = cast("list[int]", entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"tensor {name!r} has an unreadable entry {entry!r}") from error
    if not 0 <= first <= last <= len(data) or last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"tensor {name!r} does not fit its bytes {first} to {last}")
    return np.frombuffer(data[first:last], dtype).reshape(shape)
