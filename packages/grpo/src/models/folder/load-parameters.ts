import { type DType, dtypeSize, fromBytes, keep, type Tensor, tidy } from '@grpo/torch';
import { excerpt } from '../../errors/printable.js';
import { UserError } from '../../errors/user-error.js';
import { type Checkpoint, openCheckpoint, type SafetensorsDtype } from '../../formats/safetensors.js';
import { Watch } from '../../progress/watch.js';
import type { ParameterSpec } from '../parameters.js';

/** The kinds of numbers that weights may be stored as. */
export const floatTypes: Partial<Record<SafetensorsDtype, DType>> = {
  F64: 'float64',
  F32: 'float32',
  F16: 'float16',
  BF16: 'bfloat16',
};

/** Tensors of older files that are no weights: constants, and a head that repeats the embedding. */
const surplus = [/\.attn\.(masked_)?bias$/, /\.rotary_emb\.inv_freq$/, /^lm_head\.weight$/];

const mismatch = { hint: 'config.json describes another model than the weights' };

/** The parameters of a checkpoint, each read when asked for. */
export class ParameterFile implements Disposable {
  readonly #sources: ReadonlyMap<string, Source>;

  private constructor(
    private readonly checkpoint: Checkpoint,
    sources: readonly Source[],
  ) {
    this.#sources = new Map(sources.map((source) => [source.name, source]));
  }

  /**
   * @param specs - parameters that `config.json` asks for
   * @throws FormatError: no safetensors, or broken ones. UserError: a tensor is missing, is one too many, or has another
   * shape or kind of number than `specs` ask for.
   */
  static open(dir: string, specs: ReadonlyMap<string, ParameterSpec>): ParameterFile {
    const checkpoint = openCheckpoint(dir);
    try {
      return new ParameterFile(checkpoint, match(dir, checkpoint, specs));
    } catch (error) {
      checkpoint[Symbol.dispose]();
      throw error;
    }
  }

  /** The dtype that a parameter is stored as. */
  dtypeOf(name: string): DType {
    return this.#sources.get(name)!.from;
  }

  /** Bytes that a parameter takes in the file. */
  bytesOf(name: string): number {
    const { spec, from } = this.#sources.get(name)!;
    return dtypeSize(from) * spec.shape.reduce((product, size) => product * size, 1);
  }

  /** A parameter, a projection as [out, in], as stored unless another dtype is given. It lives until disposed. */
  read(name: string, { dtype, device = 'cpu' }: { dtype?: DType; device?: string } = {}): Tensor {
    const { source, spec, from } = this.#sources.get(name)!;
    return tidy(() => {
      const raw = fromBytes(this.checkpoint.read(source), this.checkpoint.info(source).shape, from);
      return keep((spec.transposed ? raw.t().contiguous() : raw).to(dtype ?? from).toDevice(device));
    });
  }

  [Symbol.dispose](): void {
    this.checkpoint[Symbol.dispose]();
  }
}

/**
 * The tensors of the checkpoint in `dir` by name, projections as [out, in]; they live until disposed.
 *
 * @param options.dtype - dtype of the weights; as stored when left out
 * @throws as {@link ParameterFile.open} does
 */
export function loadParameters(
  dir: string,
  specs: ReadonlyMap<string, ParameterSpec>,
  {
    dtype,
    device = 'cpu',
    watch = new Watch(),
  }: { dtype?: DType; device?: string; watch?: Watch | undefined },
): Map<string, Tensor> {
  using file = ParameterFile.open(dir, specs);
  const names = [...specs.keys()];
  const total = names.reduce((sum, name) => sum + file.bytesOf(name), 0);
  const progress = { stage: 'loading the model', done: 0, total, unit: 'bytes' };
  const on = { ...(dtype && { dtype }), device };
  const read = (name: string) => {
    watch.report({ ...progress });
    progress.done += file.bytesOf(name);
    return file.read(name, on);
  };
  return new Map(names.map((name) => [name, read(name)]));
}

/** A parameter, with the name and dtype of its tensor in the checkpoint. */
interface Source {
  name: string;
  source: string;
  spec: ParameterSpec;
  from: DType;
}

/** Pairs every parameter with its tensor, before anything is read. */
function match(dir: string, checkpoint: Checkpoint, specs: ReadonlyMap<string, ParameterSpec>): Source[] {
  const unused = new Set(checkpoint.names());
  const sources = [...specs].map(([name, spec]): Source => {
    // GPT-2's older checkpoints leave out the `transformer.` in front.
    const source = [name, name.replace(/^transformer\./, '')].find((candidate) => unused.has(candidate));
    if (source === undefined) throw new UserError(`${dir}: the checkpoint has no tensor '${name}'`, mismatch);
    unused.delete(source);
    const info = checkpoint.info(source);
    const from = floatTypes[info.dtype];
    if (!from) {
      throw new UserError(
        `${dir}: tensor '${source}' holds ${info.dtype}; weights must be ${Object.keys(floatTypes).join(', ')}`,
        { hint: 'quantised checkpoints are not supported: take the one with float weights' },
      );
    }
    if (info.shape.join() !== spec.shape.join()) {
      throw new UserError(
        `${dir}: tensor '${source}' has shape [${info.shape.join(', ')}], config.json asks for [${spec.shape.join(', ')}]`,
        mismatch,
      );
    }
    return { name, source, spec, from };
  });
  // transformers only warns here; a missing weight would change every logit.
  const left = [...unused].filter((name) => !surplus.some((pattern) => pattern.test(name)));
  if (left.length > 0) {
    throw new UserError(
      `${dir}: the checkpoint has ${left.length} tensors that config.json does not ask for: ${excerpt(left.join(', '))}`,
      mismatch,
    );
  }
  return sources;
}
