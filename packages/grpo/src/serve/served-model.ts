import { type Decoder, type Model, weightsChecksum } from '../models/index.js';
import { Lane } from './lane.js';

/** The model, or an adapter on it, that requests are answered by. */
export class ServedModel {
  /** What grows; absent while no weights are laid out for it. */
  lane: Lane | undefined;
  /** Requests that are not answered yet. */
  requests = 0;
  #checksum: number | undefined;

  constructor(readonly model: Model) {}

  get decoder(): Decoder {
    return this.model.decoder;
  }

  /** Of its weights, as `Completion.weights`. */
  get checksum(): number {
    this.#checksum ??= weightsChecksum(this.decoder);
    return this.#checksum;
  }

  get rows(): number {
    return this.lane?.rows ?? 0;
  }

  /** The lane, which is made where there is none. */
  open(lotBytes: number): Lane {
    this.lane ??= new Lane(this.model, lotBytes);
    return this.lane;
  }

  /** Gives back what is laid out, after which the weights may change. */
  close(): void {
    this.lane?.dispose();
    this.lane = undefined;
    this.#checksum = undefined;
  }
}
