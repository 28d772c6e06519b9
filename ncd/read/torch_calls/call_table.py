"""The functions of torch that have ops of the language, by their names in its graphs."""

from ncd.read.torch_calls import (
    lookup_calls,
    norm_calls,
    order_calls,
    place_calls,
    product_calls,
    recurrent_calls,
    shape_calls,
    window_calls,
)
from ncd.read.torch_calls.elementwise_calls import (
    ACTIVATION_CALLS,
    ARITHMETIC_CALLS,
    CONVERSION_CALLS,
    MASK_CALLS,
)
from ncd.read.torch_calls.product_calls import REDUCTION_CALLS
from ncd.read.torch_calls.shape_calls import COMPLEX_CALLS, CONCAT_CALLS, SLICE_CALLS
from ncd.read.torch_calls.window_calls import RESAMPLING_CALLS, SLIDING_CALLS

CALLS = {
    **ACTIVATION_CALLS,
    **ARITHMETIC_CALLS,
    **COMPLEX_CALLS,
    **CONCAT_CALLS,
    **CONVERSION_CALLS,
    **lookup_calls.LOOKUP_CALLS,
    **MASK_CALLS,
    **norm_calls.NORM_CALLS,
    **order_calls.ORDER_CALLS,
    **place_calls.PLACE_CALLS,
    **product_calls.PRODUCT_CALLS,
    **recurrent_calls.RECURRENT_CALLS,
    **REDUCTION_CALLS,
    **shape_calls.SHAPE_CALLS,
    **SLICE_CALLS,
    **SLIDING_CALLS,
    **window_calls.WINDOW_CALLS,
    **RESAMPLING_CALLS,
}
