"""What the device is, and the two rates that bound everything on it."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ncd.run.device import description, free_bytes
from ncd.run.measurement import medians
from tools.bench.measurements import Line
from tools.gpu.agreement import Setting
from tools.gpu.findings import Finding


def machine(setting: Setting) -> Iterator[Finding]:
    """Measures the device's memory and how fast it is read and written."""
    device = setting.device
    cuda = f", CUDA {torch.version.cuda}" if device.startswith("cuda") else ""
    line = Line(
        "memory left", free_bytes(device) or 0, f"{device}: {description(device)}", unit="bytes"
    )
    exact = not (torch.backends.cudnn.allow_tf32 or torch.backends.cuda.matmul.allow_tf32)
    more = {"torch": torch.__version__, "device": description(device), "tf32": not exact}
    yield Finding(line, "" if exact else "TF32 is on", more)
    source = torch.randn(setting.pick(1 << 28, 1 << 16), device=device)
    copy = torch.empty_like(source)
    seconds = medians({"copy": lambda: copy.copy_(source)}, device=device, rounds=10)["copy"]
    rate = 2 * source.nbytes / seconds / 1e9
    yield Finding(
        Line("copy, read and written", rate, f"torch {torch.__version__}{cuda}", unit="GB/s")
    )
