// Made by `npm run ops` from libtorch 2.13.0: edit ops/list.ts instead.
import type { DType } from '../dtype.js';
import { bind } from '../dispatch.js';
import type { Generator } from '../generator.js';
import { type Scalar, Tensor } from '../tensor.js';

/** A tensor whose elements are whatever lies in memory. `aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor` */
export const empty = bind('aten::empty.memory_format', 'aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor') as (size: readonly number[], options?: { dtype?: DType | null; device?: string | null }) => Tensor;

/** A tensor of zeros. `aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export const zeros = bind('aten::zeros', 'aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor') as (size: readonly number[], options?: { dtype?: DType | null; device?: string | null }) => Tensor;

/** A tensor of ones. `aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export const ones = bind('aten::ones', 'aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor') as (size: readonly number[], options?: { dtype?: DType | null; device?: string | null }) => Tensor;

/** A tensor of one value. `aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export const full = bind('aten::full', 'aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor') as (size: readonly number[], fillValue: Scalar, options?: { dtype?: DType | null; device?: string | null }) => Tensor;

/** start, start + step, … below end. `aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` */
export const arange = bind('aten::arange.start_step', 'aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor') as (start: Scalar, end: Scalar, step?: Scalar, options?: { dtype?: DType | null; device?: string | null }) => Tensor;

/** Zeros with the shape and dtype of self. `aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor` */
export const zerosLike = bind('aten::zeros_like', 'aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor') as (self: Tensor, options?: { dtype?: DType | null; device?: string | null }) => Tensor;

/** The lower triangle; the rest is zero. `aten::tril(Tensor self, SymInt diagonal=0) -> Tensor` */
export const tril = bind('aten::tril', 'aten::tril(Tensor self, SymInt diagonal=0) -> Tensor') as (self: Tensor, diagonal?: number) => Tensor;

/** Converts to a dtype; self when it has it already. `aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)` */
export const to = bind('aten::to.dtype', 'aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)') as (self: Tensor, dtype: DType) => Tensor;

/** Copies to a device and dtype. `aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)` */
export const toDeviceAs = bind('aten::to.device', 'aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)') as (self: Tensor, device: string, dtype: DType) => Tensor;

/** A copy with its own memory. `aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor` */
export const clone = bind('aten::clone', 'aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor') as (self: Tensor) => Tensor;

/** The same elements, outside the graph. `aten::detach(Tensor(a) self) -> Tensor(a)` */
export const detach = bind('aten::detach', 'aten::detach(Tensor(a) self) -> Tensor(a)') as (self: Tensor) => Tensor;

/** Row-major in memory; self when it is so already. `aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)` */
export const contiguous = bind('aten::contiguous', 'aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)') as (self: Tensor) => Tensor;

/** Writes the elements of src into self. `aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)` */
export const copy_ = bind('aten::copy_', 'aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)') as (self: Tensor, src: Tensor) => Tensor;

/** Writes one value into self. `aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)` */
export const fill_ = bind('aten::fill_.Scalar', 'aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)') as (self: Tensor, value: Scalar) => Tensor;

/** self + alpha × other. `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor` */
export const add = bind('aten::add.Tensor', 'aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor') as (self: Tensor, other: Tensor | number, options?: { alpha?: Scalar }) => Tensor;

/** self += alpha × other. `aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)` */
export const add_ = bind('aten::add_.Tensor', 'aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)') as (self: Tensor, other: Tensor | number, options?: { alpha?: Scalar }) => Tensor;

/** self − alpha × other. `aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor` */
export const sub = bind('aten::sub.Tensor', 'aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor') as (self: Tensor, other: Tensor | number, options?: { alpha?: Scalar }) => Tensor;

/** self −= alpha × other. `aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)` */
export const sub_ = bind('aten::sub_.Tensor', 'aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)') as (self: Tensor, other: Tensor | number, options?: { alpha?: Scalar }) => Tensor;

/** self × other. `aten::mul.Tensor(Tensor self, Tensor other) -> Tensor` */
export const mul = bind('aten::mul.Tensor', 'aten::mul.Tensor(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** self ×= other. `aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)` */
export const mul_ = bind('aten::mul_.Tensor', 'aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)') as (self: Tensor, other: Tensor | number) => Tensor;

/** self / other. `aten::div.Tensor(Tensor self, Tensor other) -> Tensor` */
export const div = bind('aten::div.Tensor', 'aten::div.Tensor(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** self /= other. `aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)` */
export const div_ = bind('aten::div_.Tensor', 'aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)') as (self: Tensor, other: Tensor | number) => Tensor;

/** self to the power of exponent. `aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor` */
export const pow = bind('aten::pow.Tensor_Scalar', 'aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor') as (self: Tensor, exponent: Scalar) => Tensor;

/** −self. `aten::neg(Tensor self) -> Tensor` */
export const neg = bind('aten::neg', 'aten::neg(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** |self|. `aten::abs(Tensor self) -> Tensor` */
export const abs = bind('aten::abs', 'aten::abs(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** e to the power of self. `aten::exp(Tensor self) -> Tensor` */
export const exp = bind('aten::exp', 'aten::exp(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** exp(self) − 1, exact near 0. `aten::expm1(Tensor self) -> Tensor` */
export const expm1 = bind('aten::expm1', 'aten::expm1(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** Natural logarithm. `aten::log(Tensor self) -> Tensor` */
export const log = bind('aten::log', 'aten::log(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** Square root. `aten::sqrt(Tensor self) -> Tensor` */
export const sqrt = bind('aten::sqrt', 'aten::sqrt(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** 1 / √self. `aten::rsqrt(Tensor self) -> Tensor` */
export const rsqrt = bind('aten::rsqrt', 'aten::rsqrt(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** Sine. `aten::sin(Tensor self) -> Tensor` */
export const sin = bind('aten::sin', 'aten::sin(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** Cosine. `aten::cos(Tensor self) -> Tensor` */
export const cos = bind('aten::cos', 'aten::cos(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** Hyperbolic tangent. `aten::tanh(Tensor self) -> Tensor` */
export const tanh = bind('aten::tanh', 'aten::tanh(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** 1 / (1 + exp(−self)). `aten::sigmoid(Tensor self) -> Tensor` */
export const sigmoid = bind('aten::sigmoid', 'aten::sigmoid(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** GELU; approximate: 'none' or 'tanh'. `aten::gelu(Tensor self, *, str approximate="none") -> Tensor` */
export const gelu = bind('aten::gelu', 'aten::gelu(Tensor self, *, str approximate="none") -> Tensor') as (self: Tensor, options?: { approximate?: string }) => Tensor;

/** self × sigmoid(self). `aten::silu(Tensor self) -> Tensor` */
export const silu = bind('aten::silu', 'aten::silu(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** The smaller of two, elementwise. `aten::minimum(Tensor self, Tensor other) -> Tensor` */
export const minimum = bind('aten::minimum', 'aten::minimum(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** The larger of two, elementwise. `aten::maximum(Tensor self, Tensor other) -> Tensor` */
export const maximum = bind('aten::maximum', 'aten::maximum(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** Bounds the elements from below and above. `aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor` */
export const clamp = bind('aten::clamp', 'aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor') as (self: Tensor, min?: Scalar | null, max?: Scalar | null) => Tensor;

/** self where the condition holds, else other. `aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor` */
export const where = bind('aten::where.self', 'aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor') as (condition: Tensor, self: Tensor, other: Tensor | number) => Tensor;

/** value where the mask is true, else self. `aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor` */
export const maskedFill = bind('aten::masked_fill.Scalar', 'aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor') as (self: Tensor, mask: Tensor, value: Scalar) => Tensor;

/** Writes value where the mask is true. `aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)` */
export const maskedFill_ = bind('aten::masked_fill_.Scalar', 'aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)') as (self: Tensor, mask: Tensor, value: Scalar) => Tensor;

/** self = other. `aten::eq.Tensor(Tensor self, Tensor other) -> Tensor` */
export const eq = bind('aten::eq.Tensor', 'aten::eq.Tensor(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** self ≠ other. `aten::ne.Tensor(Tensor self, Tensor other) -> Tensor` */
export const ne = bind('aten::ne.Tensor', 'aten::ne.Tensor(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** self < other. `aten::lt.Tensor(Tensor self, Tensor other) -> Tensor` */
export const lt = bind('aten::lt.Tensor', 'aten::lt.Tensor(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** self ≤ other. `aten::le.Tensor(Tensor self, Tensor other) -> Tensor` */
export const le = bind('aten::le.Tensor', 'aten::le.Tensor(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** self > other. `aten::gt.Tensor(Tensor self, Tensor other) -> Tensor` */
export const gt = bind('aten::gt.Tensor', 'aten::gt.Tensor(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** self ≥ other. `aten::ge.Tensor(Tensor self, Tensor other) -> Tensor` */
export const ge = bind('aten::ge.Tensor', 'aten::ge.Tensor(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** Both true. `aten::logical_and(Tensor self, Tensor other) -> Tensor` */
export const logicalAnd = bind('aten::logical_and', 'aten::logical_and(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** Not true. `aten::logical_not(Tensor self) -> Tensor` */
export const logicalNot = bind('aten::logical_not', 'aten::logical_not(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** Neither infinite nor NaN. `aten::isfinite(Tensor self) -> Tensor` */
export const isfinite = bind('aten::isfinite', 'aten::isfinite(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** Sum of all elements. `aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor` */
export const sum = bind('aten::sum', 'aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor') as (self: Tensor, options?: { dtype?: DType | null }) => Tensor;

/** Sum over dimensions. `aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor` */
export const sumDim = bind('aten::sum.dim_IntList', 'aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor') as (self: Tensor, dim: readonly number[] | null, keepdim?: boolean, options?: { dtype?: DType | null }) => Tensor;

/** Mean of all elements. `aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor` */
export const mean = bind('aten::mean', 'aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor') as (self: Tensor, options?: { dtype?: DType | null }) => Tensor;

/** Mean over dimensions. `aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor` */
export const meanDim = bind('aten::mean.dim', 'aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor') as (self: Tensor, dim: readonly number[] | null, keepdim?: boolean, options?: { dtype?: DType | null }) => Tensor;

/** Maximum over dimensions. `aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor` */
export const amax = bind('aten::amax', 'aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor') as (self: Tensor, dim?: readonly number[], keepdim?: boolean) => Tensor;

/** Minimum over dimensions. `aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor` */
export const amin = bind('aten::amin', 'aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor') as (self: Tensor, dim?: readonly number[], keepdim?: boolean) => Tensor;

/** Index of the maximum. `aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor` */
export const argmax = bind('aten::argmax', 'aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor') as (self: Tensor, dim?: number | null, keepdim?: boolean) => Tensor;

/** Whether all elements are true. `aten::all(Tensor self) -> Tensor` */
export const all = bind('aten::all', 'aten::all(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** Whether any element is true. `aten::any(Tensor self) -> Tensor` */
export const any = bind('aten::any', 'aten::any(Tensor self) -> Tensor') as (self: Tensor) => Tensor;

/** Running sum along a dimension. `aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor` */
export const cumsum = bind('aten::cumsum', 'aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor') as (self: Tensor, dim: number, options?: { dtype?: DType | null }) => Tensor;

/** The norm, of all elements or along dimensions. `aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor` */
export const linalgVectorNorm = bind('aten::linalg_vector_norm', 'aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor') as (self: Tensor, ord?: Scalar, dim?: readonly number[] | null, keepdim?: boolean, options?: { dtype?: DType | null }) => Tensor;

/** log Σ exp(self) over dimensions. `aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor` */
export const logsumexp = bind('aten::logsumexp', 'aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor') as (self: Tensor, dim: readonly number[], keepdim?: boolean) => Tensor;

/** exp(self) normalised along a dimension. `aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor` */
export const softmax = bind('aten::softmax.int', 'aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor') as (self: Tensor, dim: number, dtype?: DType | null) => Tensor;

/** log of softmax along a dimension. `aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor` */
export const logSoftmax = bind('aten::log_softmax.int', 'aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor') as (self: Tensor, dim: number, dtype?: DType | null) => Tensor;

/** The k largest (values, indices) along a dimension, sorted. `aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)` */
export const topk = bind('aten::topk', 'aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)') as (self: Tensor, k: number, dim?: number, largest?: boolean, sorted?: boolean) => [Tensor, Tensor];

/** (values, indices) in order along a dimension. `aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)` */
export const sort = bind('aten::sort', 'aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)') as (self: Tensor, dim?: number, descending?: boolean) => [Tensor, Tensor];

/** Where values would be inserted into sorted sequences. `aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor` */
export const searchsorted = bind('aten::searchsorted.Tensor', 'aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor') as (sortedSequence: Tensor, self: Tensor, options?: { out_int32?: boolean; right?: boolean; side?: string | null; sorter?: Tensor | null }) => Tensor;

/** The same memory in another shape. `aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)` */
export const view = bind('aten::view', 'aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)') as (self: Tensor, size: readonly number[]) => Tensor;

/** Another shape, copied when it must be. `aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)` */
export const reshape = bind('aten::reshape', 'aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)') as (self: Tensor, shape: readonly number[]) => Tensor;

/** Dimensions startDim to endDim as one. `aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)` */
export const flatten = bind('aten::flatten.using_ints', 'aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)') as (self: Tensor, startDim?: number, endDim?: number) => Tensor;

/** Two dimensions exchanged. `aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)` */
export const transpose = bind('aten::transpose.int', 'aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)') as (self: Tensor, dim0: number, dim1: number) => Tensor;

/** A matrix transposed. `aten::t(Tensor(a) self) -> Tensor(a)` */
export const t = bind('aten::t', 'aten::t(Tensor(a) self) -> Tensor(a)') as (self: Tensor) => Tensor;

/** Dimensions in another order. `aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)` */
export const permute = bind('aten::permute', 'aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)') as (self: Tensor, dims: readonly number[]) => Tensor;

/** A new dimension of size 1. `aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)` */
export const unsqueeze = bind('aten::unsqueeze', 'aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)') as (self: Tensor, dim: number) => Tensor;

/** A dimension of size 1 left out. `aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)` */
export const squeeze = bind('aten::squeeze.dim', 'aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)') as (self: Tensor, dim: number) => Tensor;

/** Dimensions of size 1 repeated without copying; −1 keeps a size. `aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)` */
export const expand = bind('aten::expand', 'aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)') as (self: Tensor, size: readonly number[], options?: { implicit?: boolean }) => Tensor;

/** Each element repeated along a dimension. `aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor` */
export const repeatInterleave = bind('aten::repeat_interleave.self_int', 'aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor') as (self: Tensor, repeats: number, dim?: number | null, options?: { output_size?: number | null }) => Tensor;

/** Tensors one after another along a dimension. `aten::cat(Tensor[] tensors, int dim=0) -> Tensor` */
export const cat = bind('aten::cat', 'aten::cat(Tensor[] tensors, int dim=0) -> Tensor') as (tensors: readonly Tensor[], dim?: number) => Tensor;

/** Tensors along a new dimension. `aten::stack(Tensor[] tensors, int dim=0) -> Tensor` */
export const stack = bind('aten::stack', 'aten::stack(Tensor[] tensors, int dim=0) -> Tensor') as (tensors: readonly Tensor[], dim?: number) => Tensor;

/** Views of the given sizes along a dimension. `aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]` */
export const splitWithSizes = bind('aten::split_with_sizes', 'aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]') as (self: Tensor, splitSizes: readonly number[], dim?: number) => Tensor[];

/** A view of length elements from start along a dimension. `aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)` */
export const narrow = bind('aten::narrow', 'aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)') as (self: Tensor, dim: number, start: number, length: number) => Tensor;

/** A view of one index along a dimension, which goes away. `aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)` */
export const select = bind('aten::select.int', 'aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)') as (self: Tensor, dim: number, index: number) => Tensor;

/** Rows at the given indices along a dimension. `aten::index_select(Tensor self, int dim, Tensor index) -> Tensor` */
export const indexSelect = bind('aten::index_select', 'aten::index_select(Tensor self, int dim, Tensor index) -> Tensor') as (self: Tensor, dim: number, index: Tensor) => Tensor;

/** One element per index along a dimension. `aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor` */
export const gather = bind('aten::gather', 'aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor') as (self: Tensor, dim: number, index: Tensor, options?: { sparse_grad?: boolean }) => Tensor;

/** Writes source into the given indices along a dimension. `aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)` */
export const indexCopy_ = bind('aten::index_copy_', 'aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)') as (self: Tensor, dim: number, index: Tensor, source: Tensor) => Tensor;

/** Adds elements of src at the given indices. `aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)` */
export const scatterAdd_ = bind('aten::scatter_add_', 'aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)') as (self: Tensor, dim: number, index: Tensor, src: Tensor) => Tensor;

/** Matrix product, batched over leading dimensions. `aten::matmul(Tensor self, Tensor other) -> Tensor` */
export const matmul = bind('aten::matmul', 'aten::matmul(Tensor self, Tensor other) -> Tensor') as (self: Tensor, other: Tensor | number) => Tensor;

/** Product of two matrices. `aten::mm(Tensor self, Tensor mat2) -> Tensor` */
export const mm = bind('aten::mm', 'aten::mm(Tensor self, Tensor mat2) -> Tensor') as (self: Tensor, mat2: Tensor) => Tensor;

/** input × weightᵀ + bias, by the faster of MKL and oneDNN. `grpo::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor` */
export const linear = bind('grpo::linear', 'grpo::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor') as (input: Tensor, weight: Tensor, bias?: Tensor | null) => Tensor;

/** A weight laid out for many products without a gradient; to be used by packedLinear alone. `grpo::pack_linear(Tensor(a) weight) -> Tensor(a)` */
export const packLinear = bind('grpo::pack_linear', 'grpo::pack_linear(Tensor(a) weight) -> Tensor(a)') as (weight: Tensor) => Tensor;

/** input × weightᵀ + bias for a packed weight of so many outputs, without a gradient. `grpo::packed_linear(Tensor input, Tensor packed, int outputs, Tensor? bias=None) -> Tensor` */
export const packedLinear = bind('grpo::packed_linear', 'grpo::packed_linear(Tensor input, Tensor packed, int outputs, Tensor? bias=None) -> Tensor') as (input: Tensor, packed: Tensor, outputs: number, bias?: Tensor | null) => Tensor;

/** Rows of weight at the given indices. `grpo::embedding(Tensor weight, Tensor indices) -> Tensor` */
export const embedding = bind('grpo::embedding', 'grpo::embedding(Tensor weight, Tensor indices) -> Tensor') as (weight: Tensor, indices: Tensor) => Tensor;

/** Normalised to mean 0 and variance 1 over the last dimension, scaled and shifted. `grpo::layer_norm(Tensor input, Tensor weight, Tensor bias, float eps) -> Tensor` */
export const layerNorm = bind('grpo::layer_norm', 'grpo::layer_norm(Tensor input, Tensor weight, Tensor bias, float eps) -> Tensor') as (input: Tensor, weight: Tensor, bias: Tensor, eps: number) => Tensor;

/** Divided by the root of the mean square over the last dimension, scaled. `grpo::rms_norm(Tensor input, Tensor weight, float eps) -> Tensor` */
export const rmsNorm = bind('grpo::rms_norm', 'grpo::rms_norm(Tensor input, Tensor weight, float eps) -> Tensor') as (input: Tensor, weight: Tensor, eps: number) => Tensor;

/** Turns the pairs (i, i + pairs) of each head of [N, heads, width], by cos and sin [N, 1, pairs]. `grpo::rotate(Tensor input, Tensor cos, Tensor sin) -> Tensor` */
export const rotate = bind('grpo::rotate', 'grpo::rotate(Tensor input, Tensor cos, Tensor sin) -> Tensor') as (input: Tensor, cos: Tensor, sin: Tensor) => Tensor;

/** activation(gate) × up; activation: 'silu' or 'gelu_tanh'. `grpo::gated_activation(Tensor gate, Tensor? up, str activation) -> Tensor` */
export const gatedActivation = bind('grpo::gated_activation', 'grpo::gated_activation(Tensor gate, Tensor? up, str activation) -> Tensor') as (gate: Tensor, up: Tensor | null, activation: string) => Tensor;

/** Log-probs, entropies and full KL of tokens from hidden states and the vocabulary projection, in chunks. `grpo::token_scores(Tensor hidden, Tensor head, Tensor targets, Tensor? other_hidden=None, Tensor? other_head=None, *, float temperature=1., int chunk=512, bool entropy_gradient=False, float softcap=0., Tensor? support=None, Tensor? support_offsets=None) -> (Tensor logprobs, Tensor entropies, Tensor kl)` */
export const tokenScores = bind('grpo::token_scores', 'grpo::token_scores(Tensor hidden, Tensor head, Tensor targets, Tensor? other_hidden=None, Tensor? other_head=None, *, float temperature=1., int chunk=512, bool entropy_gradient=False, float softcap=0., Tensor? support=None, Tensor? support_offsets=None) -> (Tensor logprobs, Tensor entropies, Tensor kl)') as (hidden: Tensor, head: Tensor, targets: Tensor, otherHidden?: Tensor | null, otherHead?: Tensor | null, options?: { temperature?: number; chunk?: number; entropy_gradient?: boolean; softcap?: number; support?: Tensor | null; support_offsets?: Tensor | null }) => [Tensor, Tensor, Tensor];

/** Attention within segments and to those that they continue, on the CPU in float32 or bfloat16: a row of segments is start, length, the parent's start and length. `grpo::segment_attention(Tensor query, Tensor key, Tensor value, Tensor segments, *, float? scale=None, int window=0, float softcap=0.) -> Tensor` */
export const segmentAttention = bind('grpo::segment_attention', 'grpo::segment_attention(Tensor query, Tensor key, Tensor value, Tensor segments, *, float? scale=None, int window=0, float softcap=0.) -> Tensor') as (query: Tensor, key: Tensor, value: Tensor, segments: Tensor, options?: { scale?: number | null; window?: number; softcap?: number }) => Tensor;

/** softmax(query × keyᵀ × scale + mask) × value, over [batch, heads, length, width]. `aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor` */
export const scaledDotProductAttention = bind('aten::scaled_dot_product_attention', 'aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor') as (query: Tensor, key: Tensor, value: Tensor, attnMask?: Tensor | null, dropoutP?: number, isCausal?: boolean, options?: { scale?: number | null; enable_gqa?: boolean }) => Tensor;

/** Attention of one new token per row, whose key and value are written into its place of the cache. `grpo::decode_attention(Tensor query, Tensor key, Tensor value, Tensor(a!) own_keys, Tensor(b!) own_values, Tensor prompt_keys, Tensor prompt_values, Tensor rows, Tensor? cos, Tensor? sin, Tensor? query_norm, Tensor? key_norm, float eps, *, float? scale=None, int window=0, float softcap=0.) -> Tensor` */
export const decodeAttention = bind('grpo::decode_attention', 'grpo::decode_attention(Tensor query, Tensor key, Tensor value, Tensor(a!) own_keys, Tensor(b!) own_values, Tensor prompt_keys, Tensor prompt_values, Tensor rows, Tensor? cos, Tensor? sin, Tensor? query_norm, Tensor? key_norm, float eps, *, float? scale=None, int window=0, float softcap=0.) -> Tensor') as (query: Tensor, key: Tensor, value: Tensor, ownKeys: Tensor, ownValues: Tensor, promptKeys: Tensor, promptValues: Tensor, rows: Tensor, cos: Tensor | null, sin: Tensor | null, queryNorm: Tensor | null, keyNorm: Tensor | null, eps: number, options?: { scale?: number | null; window?: number; softcap?: number }) => Tensor;

/** (x + factor × delta, its layer norm where a bias is given, else its RMS norm; without a weight itself), over the last dimension. `grpo::add_norm(Tensor x, Tensor? delta, Tensor? weight, Tensor? bias, float eps, *, float factor=1.) -> (Tensor sum, Tensor normed)` */
export const addNorm = bind('grpo::add_norm', 'grpo::add_norm(Tensor x, Tensor? delta, Tensor? weight, Tensor? bias, float eps, *, float factor=1.) -> (Tensor sum, Tensor normed)') as (x: Tensor, delta: Tensor | null, weight: Tensor | null, bias: Tensor | null, eps: number, options?: { factor?: number }) => [Tensor, Tensor];

/** One token per row at a uniform number of the cumulative distribution, with its log-probs. `grpo::draw_tokens(Tensor logits, Tensor uniforms, Tensor rules, *, Tensor? forbidden=None, Tensor? generated=None, Tensor? generated_offsets=None, bool support=False) -> (Tensor tokens, Tensor logprobs, Tensor sampled_logprobs, Tensor support, Tensor support_lengths)` */
export const drawTokens = bind('grpo::draw_tokens', 'grpo::draw_tokens(Tensor logits, Tensor uniforms, Tensor rules, *, Tensor? forbidden=None, Tensor? generated=None, Tensor? generated_offsets=None, bool support=False) -> (Tensor tokens, Tensor logprobs, Tensor sampled_logprobs, Tensor support, Tensor support_lengths)') as (logits: Tensor, uniforms: Tensor, rules: Tensor, options?: { forbidden?: Tensor | null; generated?: Tensor | null; generated_offsets?: Tensor | null; support?: boolean }) => [Tensor, Tensor, Tensor, Tensor, Tensor];

/** Writes draws from a normal distribution into self. `aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)` */
export const normal_ = bind('aten::normal_', 'aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)') as (self: Tensor, mean?: number, std?: number, options?: { generator?: Generator | null }) => Tensor;

/** Writes draws from a uniform distribution into self. `aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)` */
export const uniform_ = bind('aten::uniform_', 'aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)') as (self: Tensor, from?: number, to?: number, options?: { generator?: Generator | null }) => Tensor;

/** Multiplies each tensor by one number, in place. `aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()` */
export const foreachMul_ = bind('aten::_foreach_mul_.Scalar', 'aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()') as (self: readonly Tensor[], scalar: Scalar) => void;

/** One AdamW step of each tensor, in place; the step counts are not advanced. `aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()` */
export const fusedAdamW_ = bind('aten::_fused_adamw_', 'aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()') as (self: readonly Tensor[], grads: readonly Tensor[], expAvgs: readonly Tensor[], expAvgSqs: readonly Tensor[], maxExpAvgSqs: readonly Tensor[], stateSteps: readonly Tensor[], options: { lr: number; beta1: number; beta2: number; weight_decay: number; eps: number; amsgrad: boolean; maximize: boolean; grad_scale?: Tensor | null; found_inf?: Tensor | null }) => void;

declare module '../tensor.js' {
  // Disposable is the class's own doing; TypeScript's incremental builds forget that where a class is augmented.
  interface Tensor extends Disposable {
    /** Zeros with the shape and dtype of self. */
    zerosLike(options?: { dtype?: DType | null; device?: string | null }): Tensor;
    /** The lower triangle; the rest is zero. */
    tril(diagonal?: number): Tensor;
    /** Converts to a dtype; self when it has it already. */
    to(dtype: DType): Tensor;
    /** Copies to a device and dtype. */
    toDeviceAs(device: string, dtype: DType): Tensor;
    /** A copy with its own memory. */
    clone(): Tensor;
    /** The same elements, outside the graph. */
    detach(): Tensor;
    /** Row-major in memory; self when it is so already. */
    contiguous(): Tensor;
    /** Writes the elements of src into self. */
    copy_(src: Tensor): Tensor;
    /** Writes one value into self. */
    fill_(value: Scalar): Tensor;
    /** self + alpha × other. */
    add(other: Tensor | number, options?: { alpha?: Scalar }): Tensor;
    /** self += alpha × other. */
    add_(other: Tensor | number, options?: { alpha?: Scalar }): Tensor;
    /** self − alpha × other. */
    sub(other: Tensor | number, options?: { alpha?: Scalar }): Tensor;
    /** self −= alpha × other. */
    sub_(other: Tensor | number, options?: { alpha?: Scalar }): Tensor;
    /** self × other. */
    mul(other: Tensor | number): Tensor;
    /** self ×= other. */
    mul_(other: Tensor | number): Tensor;
    /** self / other. */
    div(other: Tensor | number): Tensor;
    /** self /= other. */
    div_(other: Tensor | number): Tensor;
    /** self to the power of exponent. */
    pow(exponent: Scalar): Tensor;
    /** −self. */
    neg(): Tensor;
    /** |self|. */
    abs(): Tensor;
    /** e to the power of self. */
    exp(): Tensor;
    /** exp(self) − 1, exact near 0. */
    expm1(): Tensor;
    /** Natural logarithm. */
    log(): Tensor;
    /** Square root. */
    sqrt(): Tensor;
    /** 1 / √self. */
    rsqrt(): Tensor;
    /** Sine. */
    sin(): Tensor;
    /** Cosine. */
    cos(): Tensor;
    /** Hyperbolic tangent. */
    tanh(): Tensor;
    /** 1 / (1 + exp(−self)). */
    sigmoid(): Tensor;
    /** GELU; approximate: 'none' or 'tanh'. */
    gelu(options?: { approximate?: string }): Tensor;
    /** self × sigmoid(self). */
    silu(): Tensor;
    /** The smaller of two, elementwise. */
    minimum(other: Tensor | number): Tensor;
    /** The larger of two, elementwise. */
    maximum(other: Tensor | number): Tensor;
    /** Bounds the elements from below and above. */
    clamp(min?: Scalar | null, max?: Scalar | null): Tensor;
    /** value where the mask is true, else self. */
    maskedFill(mask: Tensor, value: Scalar): Tensor;
    /** Writes value where the mask is true. */
    maskedFill_(mask: Tensor, value: Scalar): Tensor;
    /** self = other. */
    eq(other: Tensor | number): Tensor;
    /** self ≠ other. */
    ne(other: Tensor | number): Tensor;
    /** self < other. */
    lt(other: Tensor | number): Tensor;
    /** self ≤ other. */
    le(other: Tensor | number): Tensor;
    /** self > other. */
    gt(other: Tensor | number): Tensor;
    /** self ≥ other. */
    ge(other: Tensor | number): Tensor;
    /** Both true. */
    logicalAnd(other: Tensor | number): Tensor;
    /** Not true. */
    logicalNot(): Tensor;
    /** Neither infinite nor NaN. */
    isfinite(): Tensor;
    /** Sum of all elements. */
    sum(options?: { dtype?: DType | null }): Tensor;
    /** Sum over dimensions. */
    sumDim(dim: readonly number[] | null, keepdim?: boolean, options?: { dtype?: DType | null }): Tensor;
    /** Mean of all elements. */
    mean(options?: { dtype?: DType | null }): Tensor;
    /** Mean over dimensions. */
    meanDim(dim: readonly number[] | null, keepdim?: boolean, options?: { dtype?: DType | null }): Tensor;
    /** Maximum over dimensions. */
    amax(dim?: readonly number[], keepdim?: boolean): Tensor;
    /** Minimum over dimensions. */
    amin(dim?: readonly number[], keepdim?: boolean): Tensor;
    /** Index of the maximum. */
    argmax(dim?: number | null, keepdim?: boolean): Tensor;
    /** Whether all elements are true. */
    all(): Tensor;
    /** Whether any element is true. */
    any(): Tensor;
    /** Running sum along a dimension. */
    cumsum(dim: number, options?: { dtype?: DType | null }): Tensor;
    /** The norm, of all elements or along dimensions. */
    linalgVectorNorm(ord?: Scalar, dim?: readonly number[] | null, keepdim?: boolean, options?: { dtype?: DType | null }): Tensor;
    /** log Σ exp(self) over dimensions. */
    logsumexp(dim: readonly number[], keepdim?: boolean): Tensor;
    /** exp(self) normalised along a dimension. */
    softmax(dim: number, dtype?: DType | null): Tensor;
    /** log of softmax along a dimension. */
    logSoftmax(dim: number, dtype?: DType | null): Tensor;
    /** The k largest (values, indices) along a dimension, sorted. */
    topk(k: number, dim?: number, largest?: boolean, sorted?: boolean): [Tensor, Tensor];
    /** (values, indices) in order along a dimension. */
    sort(dim?: number, descending?: boolean): [Tensor, Tensor];
    /** The same memory in another shape. */
    view(size: readonly number[]): Tensor;
    /** Another shape, copied when it must be. */
    reshape(shape: readonly number[]): Tensor;
    /** Dimensions startDim to endDim as one. */
    flatten(startDim?: number, endDim?: number): Tensor;
    /** Two dimensions exchanged. */
    transpose(dim0: number, dim1: number): Tensor;
    /** A matrix transposed. */
    t(): Tensor;
    /** Dimensions in another order. */
    permute(dims: readonly number[]): Tensor;
    /** A new dimension of size 1. */
    unsqueeze(dim: number): Tensor;
    /** A dimension of size 1 left out. */
    squeeze(dim: number): Tensor;
    /** Dimensions of size 1 repeated without copying; −1 keeps a size. */
    expand(size: readonly number[], options?: { implicit?: boolean }): Tensor;
    /** Each element repeated along a dimension. */
    repeatInterleave(repeats: number, dim?: number | null, options?: { output_size?: number | null }): Tensor;
    /** Views of the given sizes along a dimension. */
    splitWithSizes(splitSizes: readonly number[], dim?: number): Tensor[];
    /** A view of length elements from start along a dimension. */
    narrow(dim: number, start: number, length: number): Tensor;
    /** A view of one index along a dimension, which goes away. */
    select(dim: number, index: number): Tensor;
    /** Rows at the given indices along a dimension. */
    indexSelect(dim: number, index: Tensor): Tensor;
    /** One element per index along a dimension. */
    gather(dim: number, index: Tensor, options?: { sparse_grad?: boolean }): Tensor;
    /** Writes source into the given indices along a dimension. */
    indexCopy_(dim: number, index: Tensor, source: Tensor): Tensor;
    /** Adds elements of src at the given indices. */
    scatterAdd_(dim: number, index: Tensor, src: Tensor): Tensor;
    /** Matrix product, batched over leading dimensions. */
    matmul(other: Tensor | number): Tensor;
    /** Product of two matrices. */
    mm(mat2: Tensor): Tensor;
    /** Writes draws from a normal distribution into self. */
    normal_(mean?: number, std?: number, options?: { generator?: Generator | null }): Tensor;
    /** Writes draws from a uniform distribution into self. */
    uniform_(from?: number, to?: number, options?: { generator?: Generator | null }): Tensor;
  }
}

const methods = { zerosLike, tril, to, toDeviceAs, clone, detach, contiguous, copy_, fill_, add, add_, sub, sub_, mul, mul_, div, div_, pow, neg, abs, exp, expm1, log, sqrt, rsqrt, sin, cos, tanh, sigmoid, gelu, silu, minimum, maximum, clamp, maskedFill, maskedFill_, eq, ne, lt, le, gt, ge, logicalAnd, logicalNot, isfinite, sum, sumDim, mean, meanDim, amax, amin, argmax, all, any, cumsum, linalgVectorNorm, logsumexp, softmax, logSoftmax, topk, sort, view, reshape, flatten, transpose, t, permute, unsqueeze, squeeze, expand, repeatInterleave, splitWithSizes, narrow, select, indexSelect, gather, indexCopy_, scatterAdd_, matmul, mm, normal_, uniform_ };
for (const [name, operator] of Object.entries(methods)) {
  const call = operator as (...args: unknown[]) => unknown;
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: unknown[]) {
      return call(this, ...args);
    },
  });
}
