"""The catalogue of systems; ``CATALOGUE`` holds them in the order in which they are shown."""

from ncd.models.catalogue_entry import Catalogue as Catalogue
from ncd.models.catalogue_entry import Entry as Entry
from ncd.models.catalogue_entry import Knob as Knob
from ncd.models.catalogue_entry import Preset as Preset

# isort: off
from ncd.models.attention.multi_head import (
    SCALED_DOT_PRODUCT_ATTENTION as SCALED_DOT_PRODUCT_ATTENTION,
)
from ncd.models.attention.multi_head import MULTI_HEAD_ATTENTION as MULTI_HEAD_ATTENTION
from ncd.models.transformers.encoder_decoder import ENCODER_BLOCK as ENCODER_BLOCK
from ncd.models.transformers.encoder_decoder import DECODER_BLOCK as DECODER_BLOCK
from ncd.models.transformers.encoder_decoder import DECODER_ONLY_BLOCK as DECODER_ONLY_BLOCK
from ncd.models.transformers.encoder_decoder import ENCODER_DECODER as ENCODER_DECODER
from ncd.models.transformers.packed_heads import (
    TORCH_MULTIHEAD_ATTENTION as TORCH_MULTIHEAD_ATTENTION,
)
from ncd.models.transformers.packed_heads import MERGED_QKV as MERGED_QKV
from ncd.models.transformers.feed_forward import POINTWISE_FEED_FORWARD as POINTWISE_FEED_FORWARD
from ncd.models.transformers.position_encoding import POSITIONAL_EMBEDDING as POSITIONAL_EMBEDDING
from ncd.models.components.grouped_queries import GROUPED_QUERIES as GROUPED_QUERIES
from ncd.models.components.rotary_attention import ROTARY as ROTARY
from ncd.models.components.compressed_cache import LATENT_ATTENTION as LATENT_ATTENTION
from ncd.models.components.window_attention import SLIDING_WINDOW as SLIDING_WINDOW
from ncd.models.components.matrix_states import LINEAR_ATTENTION as LINEAR_ATTENTION
from ncd.models.components.matrix_states import DELTA_RULE as DELTA_RULE
from ncd.models.components.low_rank import LORA as LORA
from ncd.models.components.gated_unit import SWIGLU as SWIGLU
from ncd.models.components.sparse_experts import MIXTURE_OF_EXPERTS as MIXTURE_OF_EXPERTS
from ncd.models.language_models.gpt2 import GPT_2 as GPT_2
from ncd.models.language_models.bert import BERT as BERT
from ncd.models.language_models.t5 import T5 as T5
from ncd.models.language_models.llama import LLAMA as LLAMA
from ncd.models.language_models.gemma import GEMMA as GEMMA
from ncd.models.language_models.mixtral import MIXTRAL as MIXTRAL
from ncd.models.language_models.deepseek import DEEPSEEK as DEEPSEEK
from ncd.models.images.image_recogniser import IMAGE_RECOGNISER as IMAGE_RECOGNISER
from ncd.models.images.lenet import LENET as LENET
from ncd.models.images.residual_block import RESIDUAL_BLOCK as RESIDUAL_BLOCK
from ncd.models.images.identity_resnet import IDENTITY_RESNET as IDENTITY_RESNET
from ncd.models.images.unet import UNET as UNET
from ncd.models.images.visual_attention import VISUAL_ATTENTION as VISUAL_ATTENTION
from ncd.models.images.vision_transformer import VIT as VIT
from ncd.models.images.convnext import CONVNEXT as CONVNEXT
from ncd.models.images.swin import SWIN as SWIN
from ncd.models.images.contrastive_model import CLIP as CLIP
from ncd.models.images.diffusion_transformer import DIT as DIT
from ncd.models.images.diffusion_unet import DIFFUSION_UNET as DIFFUSION_UNET
from ncd.models.images.autoencoder import VAE as VAE
from ncd.models.recurrent_networks.gated_cells import LSTM as LSTM
from ncd.models.recurrent_networks.gated_cells import GRU as GRU
from ncd.models.recurrent_networks.selective_state import MAMBA as MAMBA
from ncd.models.graphs.graph_convolution import GCN as GCN
from ncd.models.graphs.graph_attention import GAT as GAT
from ncd.models.learned_attention.small_transformers import REVERSAL as REVERSAL
from ncd.models.learned_attention.small_transformers import RECALL as RECALL
from ncd.models.learned_attention.small_transformers import INDUCTION as INDUCTION
from ncd.models.learned_attention.small_transformers import BRACKETS as BRACKETS
from ncd.models.learned_attention.proofreader import PROOFREADER as PROOFREADER
from ncd.models.tensors.indexing import TENSORS as TENSORS
from ncd.models.tensors.indexing import INDEXES as INDEXES
from ncd.models.tensors.indexing import SUBTENSORS as SUBTENSORS
from ncd.models.tensors.indexing import BROADCASTING as BROADCASTING
from ncd.models.tensors.indexing import INNER_BROADCASTING as INNER_BROADCASTING
from ncd.models.tensors.indexing import ELEMENTWISE as ELEMENTWISE
from ncd.models.tensors.einops_patterns import EINOPS as EINOPS
from ncd.models.tensors.memory_layout import MEMORY_ORDER as MEMORY_ORDER
from ncd.models.linear_algebra.graphical_algebra import EINSUM_ATTENTION as EINSUM_ATTENTION
from ncd.models.linear_algebra.graphical_algebra import LINEAR_ALGEBRA as LINEAR_ALGEBRA
from ncd.models.learning.matrix_product_loss import AUTOGRAD as AUTOGRAD
from ncd.models.learning.two_way_network import MODULE_OR_FUNCTION as MODULE_OR_FUNCTION
from ncd.models.learning.plane_perceptron import MLP_GEOMETRY as MLP_GEOMETRY
from ncd.models.normalisation.layer_and_batch_norm import LAYER_NORM as LAYER_NORM
from ncd.models.normalisation.layer_and_batch_norm import BATCH_NORM as BATCH_NORM
from ncd.models.memory_levels.fused_loops import MATRIX_PRODUCT as MATRIX_PRODUCT
from ncd.models.memory_levels.fused_loops import FLASH_ATTENTION as FLASH_ATTENTION
from ncd.models.memory_levels.fused_loops import FUSED_MLP as FUSED_MLP
from ncd.models.memory_levels.fused_loops import STREAMED_NORM as STREAMED_NORM
# isort: on

CATALOGUE = Catalogue(entry for entry in globals().values() if isinstance(entry, Entry))
