import { uniform } from '../maths/random.js';
import { Watch } from '../progress/watch.js';
import type { Batch } from '../step/batch.js';
import type { StepObserver } from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';
import type { AuditRecord } from '../trace/index.js';
import type { Measure, Measured } from './context.js';

/** Completions that are computed again: each costs a forward and a backward pass of its own. */
const COMPLETIONS = 2;

/** What is compared before the weights change, in the order of a step. */
const MEASURES: readonly Measure[] = [];

/**
 * Holds one step to an independent plain path, hand-over by hand-over. It changes nothing: with it and without it the
 * step leaves the same weights.
 */
export class Audit implements StepObserver {
  readonly #measured: Measured[] = [];
  #chosen: readonly number[] = [];

  /** @param trainer - the one that takes the step */
  constructor(private readonly trainer: Trainer) {}

  async compared(batch: Batch, step: number): Promise<void> {
    const { trainer } = this;
    const { watch = new Watch(), config } = trainer;
    this.#chosen = chosenOf(batch, config.seed, step);
    for (const [done, measure] of MEASURES.entries()) {
      watch.report({ stage: 'audit', done, total: MEASURES.length, unit: 'hand-overs' });
      this.#measured.push(await measure({ trainer, batch, step, chosen: this.#chosen }));
      await watch.breathe();
    }
  }

  /** What was compared, for the record of the step. */
  get record(): AuditRecord {
    return {
      completions: [...this.#chosen],
      comparisons: this.#measured.flatMap((one) => ('comparisons' in one ? one.comparisons : [])),
      missing: this.#measured.flatMap((one) =>
        'missing' in one ? [{ handOver: one.handOver, what: one.missing }] : [],
      ),
    };
  }
}

/** Completions of different prompts where there are several, drawn by seed and step. */
function chosenOf(batch: Batch, seed: number, step: number): number[] {
  const { problems, groupSize } = batch;
  const chosen = new Set<number>();
  const wanted = Math.min(COMPLETIONS, batch.completions_B.length);
  for (let i = 0; chosen.size < wanted; i++) {
    const draw = (below: number, key: number) => Math.floor(uniform(seed, step, i, key) * below);
    const p = (draw(problems.length, 0) + i) % problems.length;
    const b = p * groupSize + draw(groupSize, 1);
    const isNew = ![...chosen].some((other) => batch.problemOf(other) === p);
    if (isNew || problems.length < wanted) chosen.add(b);
  }
  return [...chosen].sort((a, b) => a - b);
}
