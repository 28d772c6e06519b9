"""A model and its arrays have to lie on one device; what is moved, and where, is read."""

from __future__ import annotations

import pytest

from ncd.findings.failures.explanation import explanation
from ncd.findings.failures.failure import failure_of
from ncd.findings.reading.device_check import OtherDevice
from ncd.findings.reading.source_trace import SourceTrace
from ncd.findings.search import findings

EITHER = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
MODEL = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.{}
    def forward(self, x):
        return self.fc(x + {})
model = Net().cuda()
y = model(torch.ones(3, 4, device="cuda"))"""
BUFFER = 'register_buffer("p", torch.zeros(4))'

WRONG = (
    (
        'fc = nn.Linear(4, 2).to("cuda")\nx = torch.ones(3, 4)\ny = fc(x)',
        "Linear gets an array (3 × 4) on the CPU (line 2) and weights (2 × 4) on cuda (line 1); "
        "all have to lie on one device.",
        'x = torch.ones(3, 4, device="cuda")',
    ),
    (
        f"{EITHER}\nfc = nn.Linear(4, 2).to(device)\nx = torch.ones(3, 4).clone()\ny = fc(x)",
        "Linear gets an array (3 × 4) on the CPU (line 3) and weights (2 × 4) on cuda (line 2), "
        "where there is a GPU; all have to lie on one device.",
        "y = fc(x.to(device))",
    ),
    (
        "fc = nn.Linear(4, 2)\nx = torch.ones(3, 4).cuda()\ny = fc(x)",
        "Linear gets an array (3 × 4) on cuda (line 2) and weights (2 × 4) on the CPU; "
        "all have to lie on one device.",
        'y = fc.to("cuda")(x)',
    ),
    (
        'a = torch.ones(3, device="cuda:0")\nb = torch.arange(3)\nc = a * b',
        "`a * b` gets an array (3) on cuda (line 1) and an array (3) on the CPU (line 2); "
        "all have to lie on one device.",
        'b = torch.arange(3, device="cuda")',
    ),
    (
        MODEL.format("p = torch.zeros(4)", "self.p"),
        "`x + self.p` gets an array (3 × 4) on cuda (line 9) and an array (4) on the CPU (line 5); "
        "all have to lie on one device.",
        "        return self.fc(x + self.p.to(x.device))",
    ),
    (
        MODEL.format(BUFFER, "torch.arange(4)"),
        "`x + torch.arange(4)` gets an array (3 × 4) on cuda (line 9) and an array (4) on the CPU "
        "(line 7); all have to lie on one device.",
        "        return self.fc(x + torch.arange(4, device=x.device))",
    ),
)
RIGHT = (
    'fc = nn.Linear(4, 2).to("cuda")\nx = torch.ones(3, 4).to("cuda")\ny = fc(x)',
    'fc = nn.Linear(4, 2, device="cuda")\n'
    "x = torch.ones(3, 4).cuda()\n"
    "y = fc(x).cpu() + torch.ones(2)",
    f"{EITHER}\nfc = nn.Linear(4, 2).to(device)\nx = torch.ones(3, 4, device=device)\ny = fc(x)",
    f"{EITHER}\nfc = nn.LSTM(4, 2).to(device)\nx = torch.ones(3, 5, 4).to(device)\ny = fc(x)",
    f"{EITHER}\nfc = nn.MultiheadAttention(4, 2).to(device)\nx = torch.ones(3, 5, 4).to(device)\n"
    "y = fc(x, x, x)",
    "use = torch.cuda.is_available()\nfc = nn.Linear(4, 2)\nif use:\n    fc.cuda()\n"
    "y = fc(torch.ones(3, 4))",
    "fc = nn.Linear(4, 2).to(place)\nx = torch.ones(3, 4).cuda()\ny = fc(x)",
    'fc = nn.Linear(4, 2).to("cuda")\n3x4',
    "a = torch.ones(3).cuda()\n"
    "b = torch.zeros(3).to(a) + a + torch.ones(3).type_as(a) + torch.tensor(2)",
    "a = torch.ones(3).cuda()\n"
    "b = a[torch.tensor([0, 1])] + torch.zeros_like(a)[:2] + a.new_zeros(2)",
    MODEL.format(BUFFER, "self.p"),
    MODEL.format(BUFFER, "torch.arange(4, device=x.device)"),
    MODEL.format(BUFFER, "torch.arange(4).to(x.device)"),
    MODEL.format(BUFFER, "torch.arange(4, device=next(self.parameters()).device)"),
)


@pytest.mark.parametrize(("text", "says", "cure"), WRONG)
def test_arrays_on_two_devices_are_a_failure_with_a_cure(text: str, says: str, cure: str) -> None:
    (found,) = findings(text)
    assert (found.kind, found.says) == ("failure", says)
    assert cure in [
        row for one in found.cures for row in one.text.split("\n") if row not in text.split("\n")
    ]


@pytest.mark.parametrize("text", RIGHT)
@pytest.mark.parametrize("symbolic", [False, True])
def test_what_lies_on_one_device_is_no_failure(text: str, symbolic: bool) -> None:
    trace = SourceTrace(text, symbolic).read()
    assert trace.error is None
    assert trace.refusal is None


def test_the_first_call_of_two_devices_is_where_a_source_stops() -> None:
    text = "a = torch.ones(3).cuda()\nb = a + 1\nc = torch.ones(3)\nd = torch.stack([b, c])"
    trace = SourceTrace(text).read()
    failure = failure_of(trace)
    assert isinstance(trace.error, OtherDevice)
    assert failure is not None
    assert explanation(failure) == (
        "`torch.stack([b, c])` gets an array (3) on cuda (line 1) and an array (3) on the CPU "
        "(line 3); all have to lie on one device."
    )
