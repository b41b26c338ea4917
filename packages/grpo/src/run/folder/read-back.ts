import { join } from 'node:path';
import { type AdamW, byteParts, type Tensor } from '@grpo/torch';
import { SafetensorsFile, sumOf } from '../../formats/safetensors.js';
import {
  ADAPTER_FILE,
  adapterTensor,
  type Model,
  parameterBytes,
  parameterSpecs,
  WEIGHTS_FILE,
} from '../../models/index.js';
import { Watch } from '../../progress/watch.js';
import { OPTIMIZER, REFERENCE } from './checkpoint.js';
import { differs } from './differs.js';

/** Where a tensor of a checkpoint is, and what it was made from. */
interface Written {
  file: string;
  name: string;
  bytes(): Iterable<Uint8Array>;
}

/**
 * Reads a checkpoint back and compares each of its tensors with what the run has.
 *
 * @param content - what it was made from, unchanged since then
 * @throws UserError for a tensor that is missing or another one; FormatError for one that the disk has damaged
 */
export function readBack(
  dir: string,
  content: { model: Model; optimizer: AdamW; reference?: ReadonlyMap<string, Tensor> | undefined },
  watch = new Watch(),
): void {
  const all = [...writtenTensors(content)];
  const files = [...new Set(all.map(({ file }) => file))];
  for (const name of files) {
    using file = SafetensorsFile.open(join(dir, name));
    const own = all.filter((written) => written.file === name);
    const surplus = [...file.tensors.keys()].find((tensor) => !own.some((one) => one.name === tensor));
    if (surplus !== undefined) throw refused(file.path, surplus, 'the run has no such tensor');
    for (const [done, { name: tensor, bytes }] of own.entries()) {
      watch.report({ stage: `reading ${name} back`, done, total: own.length, unit: 'tensors' });
      if (!file.tensors.has(tensor)) throw refused(file.path, tensor, 'it is missing');
      const [read, live] = [sumOf(file.parts(tensor)), sumOf(bytes())];
      if (read !== live)
        throw refused(file.path, tensor, `its CRC-32 is ${read}, that of the run's is ${live}`);
    }
  }
}

function* writtenTensors({
  model: { decoder },
  optimizer,
  reference = new Map<string, Tensor>(),
}: Parameters<typeof readBack>[1]): Generator<Written> {
  const { lora } = decoder;
  const specs = parameterSpecs(decoder.config);
  for (const [name, tensor] of decoder.trainable) {
    const bytes = () => parameterBytes(tensor, specs.get(name) ?? {});
    yield lora
      ? { file: ADAPTER_FILE, name: adapterTensor(name), bytes }
      : { file: WEIGHTS_FILE, name, bytes };
  }
  for (const [file, tensors] of [
    [OPTIMIZER, optimizer.state()],
    [REFERENCE, reference],
  ] as const)
    for (const [name, tensor] of tensors) yield { file, name, bytes: () => byteParts(tensor) };
}

const refused = (path: string, tensor: string, problem: string) =>
  differs(
    path,
    `'${tensor}': ${problem}`,
    'Do not go on from this checkpoint; take the one before it. Look at the disk; if that is sound, report this as a fault of grpo.',
  );
