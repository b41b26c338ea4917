import { type GroupEvent, type GroupHandle, native } from './native.js';
import { SetupError } from './setup/run.js';
import { liveHandles, type Tensor } from './tensor.js';

/** Which process joins, and where it finds the others. */
export interface JoinOptions {
  /** Number of this process, from 0. */
  rank: number;
  /** How many processes there are. */
  size: number;
  /** Host of the store by which they find each other. */
  host: string;
  /** Port of the store; 0 has the one that this process serves take any that is free. */
  port: number;
  /** Whether this process serves the store: rank 0, unless an agent such as torchrun's does. */
  servesStore: boolean;
  /** What the keys of these processes begin with, in a store that others use as well. */
  prefix?: string;
  /** Ends the group when a process does not come, or makes no progress, for so long; 600 unless given. */
  timeoutSeconds?: number;
  /** Called with the ranks that have not come yet, after 2 s and when they change. */
  onMissing?: (ranks: number[]) => void;
  /** Called with its port once the store of this process listens: the others can come. */
  onServing?: (port: number) => void;
}

/** The group cannot go on: one of its processes was lost, failed, or hangs. */
export class PeerError extends Error {
  override name = 'PeerError';

  constructor(
    /** The process that is the cause. */
    readonly rank: number,
    reason: string,
  ) {
    super(reason);
  }
}

interface Pending {
  resolve(gathered: Uint8Array[]): void;
  reject(error: Error): void;
}

/**
 * Processes that compute together, by torch.distributed's own engine: Gloo, on the CPU. All make the same calls in the
 * same order.
 *
 * A thread watches over them. When one is lost, all calls reject with a `PeerError`, and a process that neither leaves
 * the group nor ends within 15 s is ended.
 */
export class ProcessGroup implements AsyncDisposable {
  /** Number of this process, from 0. */
  readonly rank: number;
  /** How many processes there are. */
  readonly size: number;
  /** Rejects with a {@link PeerError} when a process is lost. */
  readonly lost: Promise<never>;

  readonly #handle: GroupHandle;
  readonly #pending = new Map<number, Pending>();
  #calls = 0;
  #loss: PeerError | undefined;
  #left: Promise<unknown> | undefined;
  #rejectLost!: (error: PeerError) => void;
  // The others need not wait until they miss this process.
  readonly #onExit = (code: number) => this.fail(`its process ended with code ${code} before it left`);

  private constructor(options: JoinOptions, joined: Pending) {
    if (!native.joinGroup) {
      throw new SetupError(
        `several processes need libtorch 2.0 or later with torch.distributed, found ${native.version()} without. Run: npx grpo setup`,
      );
    }
    this.rank = options.rank;
    this.size = options.size;
    this.lost = new Promise((_, reject) => {
      this.#rejectLost = reject;
    });
    // Who waits for nothing need not listen.
    this.lost.catch(() => {});
    const { prefix = '', timeoutSeconds = 600 } = options;
    const complete = { ...options, prefix, timeoutSeconds };
    this.#handle = native.joinGroup(complete, (event) => this.#hear(event, options));
    this.#expect(0, joined);
    process.once('exit', this.#onExit);
  }

  /**
   * Waits until all processes have come.
   *
   * @throws PeerError that names the missing, or a process that was lost; Error when the store cannot be reached;
   *   SetupError with a libtorch before 2.0
   */
  static join(options: JoinOptions): Promise<ProcessGroup> {
    const { host, port, timeoutSeconds = 600 } = options;
    return new Promise((resolve, reject) => {
      const group: ProcessGroup = new ProcessGroup(options, { resolve: () => resolve(group), reject });
      // What listens there may be no store, and say nothing at all.
      const end = () => group.#settle(0)?.reject(new Error(`${host}:${port} does not answer as a store`));
      const timer = setTimeout(end, (timeoutSeconds + 10) * 1000);
      timer.unref();
    });
  }

  /**
   * Puts the sum over all processes in place of each tensor, with the same bits everywhere. Halves are added up as
   * float32.
   */
  async sum(tensors: readonly Tensor[]): Promise<void> {
    await this.#call('sum', tensors);
  }

  /** Puts rank 0's values in place of each tensor. */
  async broadcast(tensors: readonly Tensor[]): Promise<void> {
    await this.#call('broadcast', tensors);
  }

  /** Everyone's bytes, by rank; their lengths may differ. */
  gather(bytes: Uint8Array): Promise<Uint8Array[]> {
    return this.#call('gather', [], bytes);
  }

  /** Waits until all processes are here. */
  async barrier(): Promise<void> {
    await this.#call('barrier');
  }

  /** Says that this process gets on; to be called more often than `timeoutSeconds`. */
  progress(): void {
    native.tellProgress!(this.#handle);
  }

  /** Ends the group: the others' calls reject with this rank and the reason. Waits until they can know, for seconds at most. */
  fail(reason: string): void {
    native.failGroup!(this.#handle, reason);
  }

  /** Leaves the group after the last call. Rank 0 waits for the others, which need its store. */
  async dispose(): Promise<void> {
    this.#left ??= this.#leave();
    await this.#left;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #leave(): Promise<void> {
    this.#rejectAll(new Error('this process has left the group'));
    await new Promise((resolve, reject) => {
      const id = ++this.#calls;
      this.#expect(id, { resolve, reject });
      native.leaveGroup!(this.#handle, id);
    });
    process.off('exit', this.#onExit);
  }

  #call(
    kind: 'sum' | 'broadcast' | 'gather' | 'barrier',
    tensors: readonly Tensor[] = [],
    bytes: Uint8Array = new Uint8Array(),
  ): Promise<Uint8Array[]> {
    return new Promise((resolve, reject) => {
      if (this.#loss) throw this.#loss;
      if (this.#left) throw new Error('this process has left the group');
      const id = ++this.#calls;
      native.callGroup!(this.#handle, id, kind, liveHandles(tensors, 'the tensors'), bytes);
      this.#expect(id, { resolve, reject });
    });
  }

  // A process ends when it expects nothing, though its group could still tell it something.
  #expect(id: number, call: Pending): void {
    if (this.#pending.size === 0) native.holdLoop!(this.#handle, true);
    this.#pending.set(id, call);
  }

  #settle(id: number): Pending | undefined {
    const call = this.#pending.get(id);
    if (this.#pending.delete(id) && this.#pending.size === 0) native.holdLoop!(this.#handle, false);
    return call;
  }

  #rejectAll(error: Error): void {
    for (const id of [...this.#pending.keys()]) this.#settle(id)!.reject(error);
  }

  #hear({ kind, id, ranks, reason, gathered, port }: GroupEvent, told: JoinOptions): void {
    if (kind === 'missing') {
      told.onMissing?.(ranks);
    } else if (kind === 'serving') {
      told.onServing?.(port);
    } else if (kind === 'lost') {
      this.#lose(new PeerError(ranks[0]!, reason));
    } else {
      const call = this.#settle(id);
      if (kind === 'done') call?.resolve(gathered.map((buffer) => new Uint8Array(buffer)));
      else call?.reject(new Error(reason));
    }
  }

  #lose(loss: PeerError): void {
    // Nobody is lost to a process that needs the others no more.
    if (this.#left) return;
    this.#loss = loss;
    this.#rejectLost(loss);
    this.#rejectAll(loss);
  }
}
