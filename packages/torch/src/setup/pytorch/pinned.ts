/** The PyTorch that everything is tested with. */
export const pinnedTorch = '2.13.0';

/** PyTorch's index of CPU builds: what Linux without a GPU needs, a tenth of the default's size. */
export const cpuIndex = 'https://download.pytorch.org/whl/cpu';

/** The index that has every platform's default build. */
export const defaultIndex = 'https://pypi.org/simple';

/** `GRPO_TORCH_INDEX`: a package index (PEP 503) to get PyTorch from in place of those two. */
export function indexVariable(): string | undefined {
  return process.env.GRPO_TORCH_INDEX?.trim().replace(/\/+$/, '') || undefined;
}
