"""Sources of today's blocks: sections of papers, and published code at a pinned commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_ARXIV, _GITHUB = "https://arxiv.org/abs/", "https://github.com/huggingface/transformers/blob/"
_FILES = {  # the commit at which each file was looked at
    "mamba": "1160c0f318703888750d20a6988febf52099df2b",
    "mixtral": "af3efdd71ee5b568dfdb71bb41d316df830147af",
    "deepseek_v2": "03eac6f6d2af7e8562113f0b78d3d2d59a7d843d",
    "llama": "5dd4a63548857797727ae73eeb6a6e886ea02a3e",
    "t5": "6b8b757dfcb582379a64f013cdce46c43629f2b0",
}


@dataclass(frozen=True)
class Reference:
    """The section of a paper, and the class that publishes it in the library ``transformers``.

    Args:
        paper: Authors, year and section.
        arxiv: Its number in arXiv.
        file: The model in whose file the class is; empty for none.
        name: The name of the class or function.
    """

    paper: str
    arxiv: str
    file: str = ""
    name: str = ""

    @property
    def paper_address(self) -> str:
        """Returns the address of the paper."""
        return _ARXIV + self.arxiv

    @property
    def code_address(self) -> str:
        """Returns the address of the file at its commit; empty if there is none.

        >>> REFERENCES["Mamba Block"].code_address.rpartition("/")[2]
        'modeling_mamba.py'
        """
        if not self.file:
            return ""
        path = f"src/transformers/models/{self.file}/modeling_{self.file}.py"
        return f"{_GITHUB}{_FILES[self.file]}/{path}"


_MAMBA = "Gu and Dao 2023, Mamba"
REFERENCES: Mapping[str, Reference] = {
    "Mamba Block": Reference(f"{_MAMBA}, section 3.4", "2312.00752", "mamba", "MambaMixer"),
    "Short Convolution": Reference(f"{_MAMBA}, section 3.4", "2312.00752", "mamba", "MambaMixer"),
    "Selective State Space": Reference(
        f"{_MAMBA}, section 3.2, algorithm 2", "2312.00752", "mamba", "MambaMixer"
    ),
    "Grouped-Query Attention": Reference(
        "Ainslie et al. 2023, GQA, section 2.2", "2305.13245", "llama", "LlamaAttention"
    ),
    "Rotary": Reference(
        "Su et al. 2021, RoFormer, section 3.2", "2104.09864", "llama", "apply_rotary_pos_emb"
    ),
    "Gated Feed-Forward": Reference(
        "Shazeer 2020, GLU Variants, section 2", "2002.05202", "llama", "LlamaMLP"
    ),
    "Mixture of Experts": Reference(
        "Jiang et al. 2024, Mixtral, section 2.1", "2401.04088", "mixtral", "MixtralSparseMoeBlock"
    ),
    "Router": Reference(
        "Jiang et al. 2024, Mixtral, section 2.1", "2401.04088", "mixtral", "MixtralSparseMoeBlock"
    ),
    "Latent Attention": Reference(
        "DeepSeek-AI 2024, DeepSeek-V2, section 2.1",
        "2405.04434",
        "deepseek_v2",
        "DeepseekV2Attention",
    ),
    "Self-Attention with Distances": Reference(
        "Raffel et al. 2020, T5, section 2.1", "1910.10683", "t5", "T5Attention"
    ),
    "Cross-Attention": Reference(
        "Vaswani et al. 2017, section 3.2.3", "1706.03762", "t5", "T5Attention"
    ),
    "Self-Attention": Reference("Vaswani et al. 2017, section 3.2", "1706.03762"),
    "Masked Self-Attention": Reference("Vaswani et al. 2017, section 3.2.3", "1706.03762"),
    "Multi-Head Attention": Reference("Vaswani et al. 2017, section 3.2.2", "1706.03762"),
    "Scaled Dot-Product Attention": Reference("Vaswani et al. 2017, section 3.2.1", "1706.03762"),
    "Feed-Forward": Reference("Vaswani et al. 2017, section 3.3", "1706.03762"),
    "Linear Attention": Reference("Katharopoulos et al. 2020, section 3.4", "2006.16236"),
    "Delta Rule": Reference("Yang et al. 2024, DeltaNet, section 2.2", "2406.06484"),
    "Low Rank": Reference("Hu et al. 2021, LoRA, section 4.1", "2106.09685"),
}
