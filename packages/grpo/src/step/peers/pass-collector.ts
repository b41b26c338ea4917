import { type DType, fromBytes, Tensor, tidy } from '@grpo/torch';
import type { SampledValues } from '../../models/index.js';
import type { MicroBatch } from '../micro-batch.js';
import type { MicroBatchPass, StepEvents } from '../observer.js';

/** A micro-batch of one process, as the others hear of it. */
export interface PassMessage {
  micro: MicroBatch;
  /** Some elements of that process's gradients, before and after it. */
  before: SampledValues;
  after: SampledValues;
  /** The pass, its tensors as bytes. */
  pass: unknown;
}

/** Collects the micro-batches of an update, so that every process can be told of them. */
export class PassCollector {
  readonly messages: PassMessage[] = [];
  /** Those of the step, but what they would hear of micro-batches is collected. */
  readonly events: StepEvents;
  #before: SampledValues = new Map();

  constructor(rank: number, events: StepEvents) {
    this.events = {
      ...events,
      // It begins again, after memory ran out.
      updateBegins: () => this.messages.splice(0),
      microBatchBegins: (_, gradients) => {
        this.#before = gradients();
      },
      microBatchDone: ({ micro, gradients, ...rest }) => {
        const pass = tidy(() => mapTensors({ ...rest, rank }, packed));
        this.messages.push({ micro: withoutSupport(micro), before: this.#before, after: gradients(), pass });
      },
    };
  }

  /** Tells of collected micro-batches. */
  static tell(messages: readonly PassMessage[], events: StepEvents, device: string): void {
    for (const { micro, before, after, pass } of messages) {
      events.microBatchBegins(micro, () => before);
      tidy(() => {
        const own = mapTensors(pass, (value) => unpacked(value, device)) as Omit<
          MicroBatchPass,
          'micro' | 'gradients'
        >;
        events.microBatchDone({ ...own, micro, gradients: () => after });
      });
    }
  }
}

/** Every process has the supports already, with the completions. */
const withoutSupport = (micro: MicroBatch): MicroBatch => ({
  ...micro,
  groups: micro.groups.map(({ support: _, ...group }) => group),
});

interface PackedTensor {
  tensorBytes: Uint8Array;
  shape: readonly number[];
  dtype: DType;
}

const packed = (value: object): PackedTensor | undefined =>
  value instanceof Tensor
    ? { tensorBytes: value.detach().contiguous().toBytes(), shape: value.shape, dtype: value.dtype }
    : undefined;

function unpacked(value: object, device: string): Tensor | undefined {
  if (!('tensorBytes' in value)) return undefined;
  const { tensorBytes, shape, dtype } = value as PackedTensor;
  return fromBytes(tensorBytes, shape, dtype).toDevice(device);
}

/** A copy of a value in which `replace` takes the place of objects; lists have no tensors and stay. */
function mapTensors(value: unknown, replace: (value: object) => object | undefined): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value))
    return value;
  const other = replace(value);
  if (other) return other;
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, mapTensors(own, replace)]));
}
