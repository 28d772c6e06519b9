"""The catalogue of systems; ``CATALOGUE`` holds them in the order in which they are shown."""

from ncd.circuit.knob import Knob as Knob
from ncd.systems.catalogue_entry import Catalogue as Catalogue
from ncd.systems.catalogue_entry import Entry as Entry
from ncd.systems.catalogue_entry import Preset as Preset

# isort: off
from ncd.systems.transformers.multi_head import (
    SCALED_DOT_PRODUCT_ATTENTION as SCALED_DOT_PRODUCT_ATTENTION,
)
from ncd.systems.transformers.multi_head import MULTI_HEAD_ATTENTION as MULTI_HEAD_ATTENTION
from ncd.systems.transformers.encoder_decoder import ENCODER_BLOCK as ENCODER_BLOCK
from ncd.systems.transformers.encoder_decoder import DECODER_BLOCK as DECODER_BLOCK
from ncd.systems.transformers.encoder_decoder import DECODER_ONLY_BLOCK as DECODER_ONLY_BLOCK
from ncd.systems.transformers.encoder_decoder import ENCODER_DECODER as ENCODER_DECODER
from ncd.systems.transformers.multi_head import (
    TORCH_MULTIHEAD_ATTENTION as TORCH_MULTIHEAD_ATTENTION,
)
from ncd.systems.transformers.multi_head import MERGED_QKV as MERGED_QKV
from ncd.systems.transformers.feed_forward import POINTWISE_FEED_FORWARD as POINTWISE_FEED_FORWARD
from ncd.systems.transformers.position_encoding import POSITIONAL_EMBEDDING as POSITIONAL_EMBEDDING
from ncd.systems.transformers.attention_variants import GROUPED_QUERIES as GROUPED_QUERIES
from ncd.systems.transformers.position_encoding import ROTARY as ROTARY
from ncd.systems.transformers.attention_variants import LATENT_ATTENTION as LATENT_ATTENTION
from ncd.systems.transformers.attention_variants import SLIDING_WINDOW as SLIDING_WINDOW
from ncd.systems.recurrent.linear_attention import LINEAR_ATTENTION as LINEAR_ATTENTION
from ncd.systems.recurrent.linear_attention import DELTA_RULE as DELTA_RULE
from ncd.systems.transformers.low_rank import LORA as LORA
from ncd.systems.transformers.feed_forward import SWIGLU as SWIGLU
from ncd.systems.transformers.feed_forward import MIXTURE_OF_EXPERTS as MIXTURE_OF_EXPERTS
from ncd.systems.language_models.gpt2 import GPT_2 as GPT_2
from ncd.systems.language_models.bert import BERT as BERT
from ncd.systems.language_models.t5 import T5 as T5
from ncd.systems.language_models.llama import LLAMA as LLAMA
from ncd.systems.language_models.llama import GEMMA as GEMMA
from ncd.systems.language_models.llama import MIXTRAL as MIXTRAL
from ncd.systems.language_models.deepseek import DEEPSEEK as DEEPSEEK
from ncd.systems.language_models.byte_pair_tokens import TOKENIZER as TOKENIZER
from ncd.systems.language_models.token_sampling import SAMPLING as SAMPLING
from ncd.systems.images.convolution_layers import CONVOLUTION as CONVOLUTION
from ncd.systems.images.convolution_layers import POOLING as POOLING
from ncd.systems.images.convolution_layers import (
    TRANSPOSED_CONVOLUTION as TRANSPOSED_CONVOLUTION,
)
from ncd.systems.images.convolution_layers import RECEPTIVE_FIELD as RECEPTIVE_FIELD
from ncd.systems.images.convolution_layers import DEPTHWISE_SEPARABLE as DEPTHWISE_SEPARABLE
from ncd.systems.images.small_recognisers import IMAGE_RECOGNISER as IMAGE_RECOGNISER
from ncd.systems.images.small_recognisers import LENET as LENET
from ncd.systems.images.vgg import VGG as VGG
from ncd.systems.images.resnet import RESIDUAL_BLOCK as RESIDUAL_BLOCK
from ncd.systems.images.resnet import IDENTITY_RESNET as IDENTITY_RESNET
from ncd.systems.images.published_resnet import RESNET as RESNET
from ncd.systems.images.efficientnet import EFFICIENTNET as EFFICIENTNET
from ncd.systems.images.unet import UNET as UNET
from ncd.systems.transformers.multi_head import VISUAL_ATTENTION as VISUAL_ATTENTION
from ncd.systems.images.vision_transformer import VIT as VIT
from ncd.systems.images.convnext import CONVNEXT as CONVNEXT
from ncd.systems.images.swin import SWIN as SWIN
from ncd.systems.images.contrastive_model import CLIP as CLIP
from ncd.systems.images.diffusion_models import DIT as DIT
from ncd.systems.images.diffusion_models import DIFFUSION_UNET as DIFFUSION_UNET
from ncd.systems.images.autoencoder import VAE as VAE
from ncd.systems.recurrent.plain_recurrence import RNN as RNN
from ncd.systems.recurrent.gated_cells import LSTM as LSTM
from ncd.systems.recurrent.gated_cells import GRU as GRU
from ncd.systems.recurrent.seq2seq_attention import SEQ2SEQ_ATTENTION as SEQ2SEQ_ATTENTION
from ncd.systems.recurrent.selective_state import MAMBA as MAMBA
from ncd.systems.networks.graph_networks import GCN as GCN
from ncd.systems.networks.graph_networks import GAT as GAT
from ncd.systems.transformers.small_transformers import REVERSAL as REVERSAL
from ncd.systems.transformers.small_transformers import RECALL as RECALL
from ncd.systems.transformers.small_transformers import INDUCTION as INDUCTION
from ncd.systems.transformers.small_transformers import BRACKETS as BRACKETS
from ncd.systems.transformers.small_transformers import PROOFREADER as PROOFREADER
from ncd.systems.tensors.array_indexing import TENSORS as TENSORS
from ncd.systems.tensors.array_indexing import INDEXES as INDEXES
from ncd.systems.tensors.array_indexing import SUBTENSORS as SUBTENSORS
from ncd.systems.tensors.array_indexing import BROADCASTING as BROADCASTING
from ncd.systems.tensors.array_indexing import INNER_BROADCASTING as INNER_BROADCASTING
from ncd.systems.tensors.array_indexing import ELEMENTWISE as ELEMENTWISE
from ncd.systems.tensors.einops_patterns import EINOPS as EINOPS
from ncd.systems.tensors.memory_layout import MEMORY_ORDER as MEMORY_ORDER
from ncd.systems.tensors.graphical_algebra import EINSUM_ATTENTION as EINSUM_ATTENTION
from ncd.systems.tensors.graphical_algebra import LINEAR_ALGEBRA as LINEAR_ALGEBRA
from ncd.systems.networks.cross_entropy_loss import CROSS_ENTROPY as CROSS_ENTROPY
from ncd.systems.networks.optimiser_steps import OPTIMISERS as OPTIMISERS
from ncd.systems.networks.weight_initialisation import INITIALISATION as INITIALISATION
from ncd.systems.networks.dropout_layer import DROPOUT as DROPOUT
from ncd.systems.networks.low_precision_step import LOW_PRECISION as LOW_PRECISION
from ncd.systems.transformers.parallel_layer import PARALLELISM as PARALLELISM
from ncd.systems.networks.perceptrons import AUTOGRAD as AUTOGRAD
from ncd.systems.networks.perceptrons import MODULE_OR_FUNCTION as MODULE_OR_FUNCTION
from ncd.systems.networks.perceptrons import MLP_GEOMETRY as MLP_GEOMETRY
from ncd.systems.transformers.layer_and_batch_norm import LAYER_NORM as LAYER_NORM
from ncd.systems.transformers.layer_and_batch_norm import BATCH_NORM as BATCH_NORM
from ncd.systems.tensors.flash_attention import MATRIX_PRODUCT as MATRIX_PRODUCT
from ncd.systems.tensors.flash_attention import FLASH_ATTENTION as FLASH_ATTENTION
from ncd.systems.tensors.flash_attention import FUSED_MLP as FUSED_MLP
from ncd.systems.tensors.flash_attention import STREAMED_NORM as STREAMED_NORM
# isort: on

CATALOGUE = Catalogue(entry for entry in globals().values() if isinstance(entry, Entry))
