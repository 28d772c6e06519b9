"""The systems, one file each; ``CATALOGUE`` holds them in the order in which they are shown."""

from ncd.models.entry import Catalogue as Catalogue
from ncd.models.entry import Entry as Entry
from ncd.models.entry import Knob as Knob
from ncd.models.entry import Preset as Preset

# isort: off
from ncd.models.tensors import TENSORS as TENSORS
from ncd.models.tensors import INDEXES as INDEXES
from ncd.models.tensors import SUBTENSORS as SUBTENSORS
from ncd.models.tensors import BROADCASTING as BROADCASTING
from ncd.models.tensors import INNER_BROADCASTING as INNER_BROADCASTING
from ncd.models.tensors import ELEMENTWISE as ELEMENTWISE
from ncd.models.einops import EINOPS as EINOPS
from ncd.models.memory import MEMORY_ORDER as MEMORY_ORDER
from ncd.models.algebra import EINSUM_ATTENTION as EINSUM_ATTENTION
from ncd.models.algebra import LINEAR_ALGEBRA as LINEAR_ALGEBRA
from ncd.models.autograd import AUTOGRAD as AUTOGRAD
from ncd.models.module_or_function import MODULE_OR_FUNCTION as MODULE_OR_FUNCTION
from ncd.models.geometry import MLP_GEOMETRY as MLP_GEOMETRY
from ncd.models.attention import SCALED_DOT_PRODUCT_ATTENTION as SCALED_DOT_PRODUCT_ATTENTION
from ncd.models.attention import MULTI_HEAD_ATTENTION as MULTI_HEAD_ATTENTION
from ncd.models.learned import REVERSAL as REVERSAL
from ncd.models.learned import RECALL as RECALL
from ncd.models.learned import INDUCTION as INDUCTION
from ncd.models.learned import BRACKETS as BRACKETS
from ncd.models.image_recogniser import IMAGE_RECOGNISER as IMAGE_RECOGNISER
from ncd.models.lenet import LENET as LENET
from ncd.models.residual import RESIDUAL_BLOCK as RESIDUAL_BLOCK
from ncd.models.resnet import IDENTITY_RESNET as IDENTITY_RESNET
from ncd.models.unet import UNET as UNET
from ncd.models.visual_attention import VISUAL_ATTENTION as VISUAL_ATTENTION
from ncd.models.transformer import ENCODER_BLOCK as ENCODER_BLOCK
from ncd.models.transformer import DECODER_BLOCK as DECODER_BLOCK
from ncd.models.transformer import DECODER_ONLY_BLOCK as DECODER_ONLY_BLOCK
from ncd.models.transformer import ENCODER_DECODER as ENCODER_DECODER
from ncd.models.heads import TORCH_MULTIHEAD_ATTENTION as TORCH_MULTIHEAD_ATTENTION
from ncd.models.heads import MERGED_QKV as MERGED_QKV
from ncd.models.pointwise import POINTWISE_FEED_FORWARD as POINTWISE_FEED_FORWARD
from ncd.models.positions import POSITIONAL_EMBEDDING as POSITIONAL_EMBEDDING
from ncd.models.norms import LAYER_NORM as LAYER_NORM
from ncd.models.norms import BATCH_NORM as BATCH_NORM
# isort: on

CATALOGUE = Catalogue(entry for entry in globals().values() if isinstance(entry, Entry))
