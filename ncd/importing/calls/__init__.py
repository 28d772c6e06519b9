"""The functions of torch that have ops of the language, by their names in its graphs."""

from ncd.importing.calls import (
    activation_calls,
    arithmetic_calls,
    complex_calls,
    concat_calls,
    conversion_calls,
    lookup_calls,
    mask_calls,
    norm_calls,
    place_calls,
    product_calls,
    recurrent_calls,
    reduction_calls,
    shape_calls,
    slice_calls,
    window_calls,
)

CALLS = {
    **activation_calls.CALLS,
    **arithmetic_calls.CALLS,
    **complex_calls.CALLS,
    **concat_calls.CALLS,
    **conversion_calls.CALLS,
    **lookup_calls.CALLS,
    **mask_calls.CALLS,
    **norm_calls.CALLS,
    **place_calls.CALLS,
    **product_calls.CALLS,
    **recurrent_calls.CALLS,
    **reduction_calls.CALLS,
    **shape_calls.CALLS,
    **slice_calls.CALLS,
    **window_calls.CALLS,
}
