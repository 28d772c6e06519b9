"""Names of torch that a source may use as they are, by the part of torch that they are in."""

from __future__ import annotations

FUNCTIONS = """
abs acos add addcdiv addcmul addmm all allclose amax amin any argmax argmin argsort asin atan atan2
atleast_1d atleast_2d baddbmm bitwise_and bitwise_not bitwise_or bmm broadcast_tensors broadcast_to
bucketize cartesian_prod cat cdist ceil chunk clamp clamp_max clamp_min clip clone column_stack
complex concat concatenate cos cosh cosine_similarity count_nonzero cross cummax cumprod cumsum diag
diag_embed diagonal diff div divide dot einsum eq equal erf erfc exp expm1 flatten flip fliplr
flipud floor floor_divide fmod frac gather ge gt hstack inner is_complex
is_floating_point is_tensor isfinite isinf isnan isclose kron le lerp log log10 log1p log2 logaddexp
logical_and logical_not logical_or logical_xor logsumexp lt masked_fill masked_select matmul max
maximum mean median meshgrid min minimum mm movedim moveaxis mul multiply mv nan_to_num narrow ne
neg negative norm numel outer permute polar pow prod quantile reciprocal relu relu_ remainder
repeat_interleave reshape roll rot90 round rsqrt scatter scatter_add select sgn sigmoid sign sin
sinh softmax log_softmax sort split sqrt square squeeze stack std std_mean sub subtract sum swapaxes
swapdims t take take_along_dim tan tanh tensor_split tensordot tile topk transpose tril
tril_indices triu triu_indices true_divide trunc unbind unflatten unsqueeze var var_mean vstack
view_as_complex view_as_real where xlogy zeros_like ones_like rand_like randn_like
full_like result_type promote_types dropout selu celu prelu layer_norm batch_norm group_norm
conv1d conv2d conv3d bilinear channel_shuffle pixel_shuffle baddbmm renorm cov scalar_tensor
softmax sum dsplit hsplit block_diag combinations vander trapz searchsorted
acosh addbmm asinh atanh conv_tbc copysign cummin deg2rad digamma erfinv float_power fmax fmin
heaviside hypot kthvalue lgamma logcumsumexp logit matrix_exp mode rad2deg sinc trace
conv_transpose1d conv_transpose2d conv_transpose3d vdot chain_matmul hardshrink rms_norm
instance_norm pairwise_distance cosine_embedding_loss triplet_margin_loss
"""
FUNCTIONAL = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
affine_grid alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear binary_cross_entropy
binary_cross_entropy_with_logits celu conv1d conv2d conv3d conv_transpose1d conv_transpose2d
conv_transpose3d cosine_similarity cross_entropy dropout dropout1d dropout2d dropout3d elu elu_
embedding embedding_bag feature_alpha_dropout fold gelu glu grid_sample group_norm hardshrink
hardsigmoid hardswish hardtanh huber_loss instance_norm interpolate kl_div l1_loss layer_norm
leaky_relu leaky_relu_ linear local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d
max_pool1d max_pool2d max_pool3d mish mse_loss multi_head_attention_forward nll_loss normalize
one_hot pad pairwise_distance pixel_shuffle pixel_unshuffle prelu relu relu6 relu_ rms_norm rrelu
scaled_dot_product_attention selu sigmoid silu smooth_l1_loss softmax softmin softplus softshrink
softsign tanh tanhshrink threshold unfold upsample
adaptive_max_pool3d cosine_embedding_loss ctc_loss gaussian_nll_loss gumbel_softmax
hinge_embedding_loss margin_ranking_loss max_unpool1d max_unpool2d max_unpool3d multi_margin_loss
multilabel_margin_loss multilabel_soft_margin_loss poisson_nll_loss soft_margin_loss
triplet_margin_loss lp_pool3d
"""
LAYERS = """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d
BatchNorm3d Bilinear CELU ChannelShuffle CircularPad2d ConstantPad1d ConstantPad2d Conv1d Conv2d
Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineSimilarity CrossEntropyLoss Dropout
Dropout1d Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold GELU GLU
GRU GRUCell GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HuberLoss Identity InstanceNorm1d
InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LSTM LSTMCell LayerNorm LeakyReLU Linear
LocalResponseNorm LogSigmoid LogSoftmax MSELoss MaxPool1d MaxPool2d MaxPool3d Mish Module ModuleDict
ModuleList MultiheadAttention NLLLoss PReLU ParameterDict ParameterList PixelShuffle PixelUnshuffle
RMSNorm RNN RNNCell RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d ReplicationPad1d
ReplicationPad2d SELU Sequential SiLU Sigmoid SmoothL1Loss Softmax Softmax2d Softmin Softplus
Softshrink Softsign SyncBatchNorm Tanh Tanhshrink Threshold Transformer TransformerDecoder
TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer Unflatten Unfold Upsample
UpsamplingBilinear2d UpsamplingNearest2d ZeroPad2d
AdaptiveMaxPool3d CTCLoss CircularPad1d CircularPad3d ConstantPad3d CosineEmbeddingLoss
GaussianNLLLoss HingeEmbeddingLoss LPPool1d LPPool2d MarginRankingLoss MaxUnpool1d MaxUnpool2d
MaxUnpool3d MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss PairwiseDistance
PoissonNLLLoss ReflectionPad3d ReplicationPad3d SoftMarginLoss TripletMarginLoss ZeroPad1d ZeroPad3d
"""
LINEAR_ALGEBRA = """
norm vector_norm matrix_norm cross matmul multi_dot diagonal vecdot inv solve det slogdet cholesky
qr matrix_power pinv eigvalsh svdvals
"""
FOURIER = "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftshift ifftshift"
SPECIAL = "expit logit erf exp2 softmax log_softmax"
INITS = """
constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_ orthogonal_ sparse_
trunc_normal_ uniform_ xavier_normal_ xavier_uniform_ zeros_ kaiming_normal kaiming_uniform normal
uniform constant xavier_normal xavier_uniform
"""
DTYPES = """
float32 float float64 double float16 half bfloat16 int8 int16 int32 int64 int long short uint8 bool
complex64 cfloat complex128
"""
