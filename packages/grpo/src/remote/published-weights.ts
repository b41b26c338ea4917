import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { dtypeSize } from '@grpo/torch';
import { freeBytes } from '../errors/free-bytes.js';
import { makeFolder } from '../formats/make-folder.js';
import { type Model, saveModel } from '../models/index.js';
import type { PushedWeights } from './dialect.js';

/** Memory that is a folder, on Linux. */
const MEMORY = '/dev/shm';

/** Where weights are handed over, and what their names begin with. */
export interface HandOver {
  /** The folder that was asked for; undefined where one is to be found. */
  folder: string | undefined;
  /** A folder of the run, which is used where nothing better is. */
  runFolder: string;
  /** Whether all servers are on this machine. */
  isLocal: boolean;
  /** Begins the names of all weights of the run, at all times. */
  prefix: string;
  /** Tells this process of the run from those before it: the same step may have had other weights there. */
  session: string;
}

/** Weights of a model that servers get: a folder that is there only while one of them reads it. */
export class PublishedWeights {
  readonly kind: PushedWeights['kind'];
  /** That of no other weights, whoever trains. */
  readonly name: string;
  readonly bytes: number;
  #readers = 0;
  #folder = '';

  /** @param version - of the weights, within their run */
  constructor(
    private readonly model: Model,
    readonly version: string,
    private readonly place: HandOver,
  ) {
    const { decoder } = model;
    this.kind = decoder.lora ? 'adapter' : 'model';
    this.name = `${place.prefix}${place.session}-${version}`;
    this.bytes = bytesOf(model);
  }

  /** Begins the names of all weights of the run. */
  get prefix(): string {
    return this.place.prefix;
  }

  /** Writes the folder, if nobody reads it at the moment, and deletes it after the last one has. */
  async lend<T>(read: (weights: PushedWeights) => Promise<T>): Promise<T> {
    if (this.#readers++ === 0) this.#write();
    try {
      const { kind, name, prefix } = this;
      return await read({ kind, name, prefix, folder: this.#folder });
    } finally {
      if (--this.#readers === 0) rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  #write(): void {
    this.#folder = join(rootFor(this.place, this.bytes), this.name);
    makeFolder(this.#folder);
    saveModel(this.model, this.#folder);
  }
}

/** Deletes what a process of the run that was killed in a hand-over left behind. The run's lock keeps other processes away. */
export function sweepWeights({ folder = MEMORY, runFolder, prefix }: HandOver): void {
  for (const root of [folder, runFolder].filter((path) => existsSync(path)))
    for (const name of readdirSync(root))
      if (name.startsWith(prefix)) rmSync(join(root, name), { recursive: true, force: true });
}

/** Memory where all servers see it and it has twice the room; the run's folder elsewhere. */
function rootFor({ folder, isLocal, runFolder }: HandOver, bytes: number): string {
  if (folder !== undefined) return folder;
  const hasRoom = isLocal && existsSync(MEMORY) && (freeBytes(MEMORY) ?? 0) > 2 * bytes;
  return hasRoom ? MEMORY : runFolder;
}

function bytesOf({ decoder }: Model): number {
  const tensors = [...(decoder.lora ?? decoder).parameters.values()];
  return tensors.reduce((sum, { numel, dtype }) => sum + numel * dtypeSize(dtype), 0);
}
