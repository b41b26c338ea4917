import { SafetensorsFile, type TensorEntry, writeSafetensors } from '../formats/safetensors.js';

/** Writes a safetensors file again, with each tensor as `change` returns it, or without it where that returns nothing. */
export function rewriteTensors(path: string, change: (entry: TensorEntry) => TensorEntry | undefined): void {
  using file = SafetensorsFile.open(path);
  const entries = [...file.tensors].map(([name, { dtype, shape }]) => {
    const bytes = file.read(name);
    return change({ name, dtype, shape, data: () => bytes });
  });
  writeSafetensors(
    path,
    entries.filter((entry) => entry !== undefined),
  );
}
