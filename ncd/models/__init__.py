"""The systems, one file each; ``CATALOGUE`` holds them in the order in which they are shown."""

from ncd.models.entry import Catalogue as Catalogue
from ncd.models.entry import Entry as Entry
from ncd.models.entry import Knob as Knob
from ncd.models.entry import Preset as Preset

# isort: off
from ncd.models.attention import SCALED_DOT_PRODUCT_ATTENTION as SCALED_DOT_PRODUCT_ATTENTION
from ncd.models.attention import MULTI_HEAD_ATTENTION as MULTI_HEAD_ATTENTION
from ncd.models.residual import RESIDUAL_BLOCK as RESIDUAL_BLOCK
from ncd.models.image_recogniser import IMAGE_RECOGNISER as IMAGE_RECOGNISER
from ncd.models.unet import UNET as UNET
# isort: on

CATALOGUE = Catalogue(entry for entry in globals().values() if isinstance(entry, Entry))
