/** Values that restrict libtorch and its two libraries to the instruction sets of a level. */
const RESTRICTED: Record<string, [aten: string, oneDnn: string, mkl: string]> = {
  base: ['default', 'SSE41', 'SSE4_2'],
  avx2: ['avx2', 'AVX2', 'AVX2'],
  avx512: ['avx512', 'AVX512_CORE', 'AVX512'],
  avx512_bf16: ['avx512', 'AVX512_CORE_BF16', 'AVX512'],
  amx: ['avx512', 'AVX512_CORE_AMX', 'AVX512'],
};

/** The environment in which a process computes with our kernels and libtorch's at one level of instructions. */
export function atLevel(level: string): Record<string, string> {
  const [aten, oneDnn, mkl] = RESTRICTED[level]!;
  return {
    GRPO_CPU_LEVEL: level,
    ATEN_CPU_CAPABILITY: aten,
    ONEDNN_MAX_CPU_ISA: oneDnn,
    MKL_ENABLE_INSTRUCTIONS: mkl,
  };
}
