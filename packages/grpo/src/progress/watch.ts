import { setImmediate } from 'node:timers/promises';

/** How far a stage of long work is. */
export interface StageProgress {
  /** Name of the stage, such as `rollout`. */
  stage: string;
  /** Units done, from 0 to `total`. */
  done: number;
  /** 0 if it is unknown. */
  total: number;
  /** The unit in the plural, such as `completions`; `bytes` are shown as sizes. */
  unit: string;
  /** Tokens computed in the stage so far, where `unit` is another one. */
  tokens?: number;
  /** Part of the work that is done, from 0 to 1, where units take until the end and `done` stays behind. */
  share?: number;
}

/** Hears about long work. */
export interface Observer {
  /** Called many times per second, also between two layers of one pass: it must return soon. */
  progress?(now: StageProgress): void;
  note?(text: string): void;
}

/** The work was abandoned at its caller's wish. It has changed nothing. */
export class Abandoned extends Error {
  constructor() {
    super('abandoned');
  }
}

/** What long work reports to, and asks whether to go on. Without an observer and a signal it does nothing. */
export class Watch {
  /** @param signal - abandons the work at its next report */
  constructor(
    private readonly observer: Observer = {},
    private readonly signal?: AbortSignal,
    private readonly onAbort = (): void => {
      throw new Abandoned();
    },
  ) {}

  /** @throws Abandoned */
  report(now: StageProgress): void {
    this.observer.progress?.(now);
    if (this.signal?.aborted) this.onAbort();
  }

  /**
   * Lets signals and timers through.
   *
   * @throws Abandoned
   */
  async breathe(): Promise<void> {
    await setImmediate();
    if (this.signal?.aborted) this.onAbort();
  }

  /**
   * Waits for work that does not report, but no longer than the signal lets it.
   *
   * @throws Abandoned, and what the work throws
   */
  async until<T>(now: StageProgress, begin: () => Promise<T>): Promise<T> {
    this.report(now);
    const work = begin();
    const { signal } = this;
    if (!signal) return work;
    let stop = () => {};
    const aborted = new Promise<void>((resolve) => {
      stop = () => resolve();
      signal.addEventListener('abort', stop, { once: true });
    });
    try {
      // The abandoned work may still fail: the race has handled that.
      const first = await Promise.race([work.then((value) => ({ value })), aborted]);
      if (first) return first.value;
      this.onAbort();
      return await work;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** The same watch for work that its stage has another name for. */
  named(stage: string): Watch {
    const { observer } = this;
    const renamed: Observer = {
      progress: (now) => observer.progress?.({ ...now, stage }),
      note: (text) => observer.note?.(text),
    };
    return new Watch(renamed, this.signal, this.onAbort);
  }

  /**
   * The same watch for work that must be finished.
   *
   * @param note - told once, when the signal comes
   */
  finishing(note?: string): Watch {
    let told = note === undefined;
    return new Watch(this.observer, this.signal, () => {
      if (!told) this.observer.note?.(note!);
      told = true;
    });
  }
}
