import { isEstimated, statistics } from '../objective/index.js';
import { type RewardTable, totals } from '../rewards/index.js';
import type { MicroBatch } from '../step/micro-batch.js';
import type { MicroBatchPass, StepObserver, UpdateResult } from '../step/observer.js';

/**
 * Prints a line after sampling, after scoring, after each micro-batch and after each update of a step: memory of the
 * process, seconds since the step began, and what is known by then (`train.log=micro`).
 */
export class MicroLog implements StepObserver {
  readonly #begun = performance.now();
  #micro = 0;

  /** @param isAudited - whether the step is computed a second time between its stages */
  constructor(
    private readonly print: (line: string) => void,
    private readonly isAudited = false,
  ) {}

  stage<T>(name: string, work: () => T): T {
    const result = work();
    if (result instanceof Promise) return result.then((value) => this.#ended(name, value)) as T;
    return this.#ended(name, result);
  }

  compared(): void {
    if (this.isAudited) this.print(this.#line('Samples audited'));
  }

  microBatchDone({ micro, output }: MicroBatchPass): void {
    const share = (part: string) => {
      const own = output.parts?.find(({ name }) => name === part);
      return own && own.coefficient * own.value;
    };
    const parts = { pg_loss: share('policy'), kl: share('kl'), entropy: share('entropy') };
    const known = Object.entries({ ...parts, total: output.loss.item() }).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${value.toFixed(6)}`],
    );
    this.print(`${this.#line('4. Loss computed')}, ${[...maskedIn(micro), ...known].join(', ')}`);
    this.#micro++;
  }

  updated(_: UpdateResult): void {
    this.print(`5. Optimizer step finished: ${this.#spent()} total`);
  }

  #ended<T>(name: string, value: T): T {
    if (name === 'sample') this.print(this.#line('2. Samples generated'));
    if (name === 'score') {
      const { mean, deviation } = statistics(totals(value as RewardTable));
      this.print(`${this.#line('3. Samples scored')}, rewards=${mean.toFixed(4)}±${deviation.toFixed(4)}`);
    }
    if (name === 'old') this.print(this.#line('Old log-probs computed'));
    if (name === 'reference') this.print(this.#line('Reference log-probs computed'));
    return value;
  }

  #line(what: string): string {
    return `[Micro ${this.#micro}] ${what}: ${this.#spent()}`;
  }

  #spent(): string {
    const megabytes = process.memoryUsage.rss() / 2 ** 20;
    return `mem=${megabytes.toFixed(0)} MB, time=${((performance.now() - this.#begun) / 1000).toFixed(3)}s`;
  }
}

/** For a masked-diffusion model: how many tokens of the micro-batch some pass hides, of all. */
function maskedIn({ groups }: MicroBatch): string[] {
  const tokens = groups.flatMap(({ completions, masked }) =>
    completions.flatMap((ids, i) => ids.map((_, t) => masked && isEstimated(masked[i]!.plan, t))),
  );
  if (tokens.includes(undefined)) return [];
  const hidden = tokens.filter(Boolean).length;
  return [`masks_in_X=${hidden}/${tokens.length} (${((100 * hidden) / tokens.length).toFixed(1)}%)`];
}
