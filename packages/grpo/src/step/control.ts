import { z } from 'zod';
import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';
import { entropyWeight, nextBeta, nextEntropy, warmedUp } from '../objective/index.js';
import type { UpdateRecord } from '../trace/index.js';
import type { Batch } from './batch.js';
import { kindsOf } from './kinds.js';
import { MetricTally, metricsOfPass } from './metric-tally.js';
import type { MicroBatchPass, StepObserver } from './observer.js';

/** State that the weights of the objective depend on, beside the settings and the step. */
export const controlSchema = z.object({
  /** By kind of problem; the kind '' has all problems where kinds are not told apart. */
  betas: z.record(z.string(), z.object({ beta: z.number(), recent: z.array(z.number()) })),
  entropy: z.object({ coefficient: z.number(), last: z.number().nullable() }),
  /** Optimizer updates of the run. */
  updates: z.int().nonnegative(),
});

export type ControlState = z.infer<typeof controlSchema>;

/** Weights of the objective that change while training: they follow what the updates of each step measure. */
export class Control implements StepObserver {
  /** Metrics of the update and of the step so far; only where a weight follows them. */
  #update: MetricTally | undefined;
  #step: MetricTally | undefined;

  /** @param state - that of the run so far; a new run's when not given */
  constructor(
    private readonly config: Pick<Config, 'kl' | 'entropy'>,
    readonly state: ControlState = {
      betas: {},
      entropy: { coefficient: config.entropy.coefficient, last: null },
      updates: 0,
    },
  ) {}

  /**
   * Weight of the KL to the reference.
   *
   * @param step - counted from 0
   */
  beta(step: number, kind: string): number {
    return this.#hasKl ? warmedUp(this.#of(kind).beta, step, this.config.kl) : 0;
  }

  /** Gives each problem of a step its kind and its β. */
  weigh(batch: Batch, step: number): void {
    const { kindKey } = this.config.kl;
    if (kindKey !== undefined) batch.kinds_P = kindsOf(batch.problems, kindKey);
    batch.betas_P = batch.kinds_P.map((kind) => this.beta(step, kind));
  }

  /** Weight of the entropy bonus in the next update. */
  get entropyCoefficient(): number {
    return this.#hasBonus ? entropyWeight(this.state.entropy, this.config.entropy) : 0;
  }

  /** Optimizer updates of the run so far. */
  get updates(): number {
    return this.state.updates;
  }

  /** The weights of a step: `beta` or `beta/KIND`, where there is a reference, and `entropy_coef`, where there is a bonus. */
  metrics(step: number, kinds: readonly string[]): Record<string, number> {
    const named = (kind: string) => [kind === '' ? 'beta' : `beta/${kind}`, this.beta(step, kind)] as const;
    return {
      ...(this.#hasKl && Object.fromEntries(kinds.map(named))),
      ...(this.#hasBonus && { entropy_coef: this.state.entropy.coefficient }),
    };
  }

  /** The weights, for the record of the next update. */
  factsOf(step: number): Pick<UpdateRecord, 'beta' | 'entropyCoefficient'> {
    const { place, kindKey } = this.config.kl;
    const inLoss = kindKey === undefined ? this.beta(step, '') : 1;
    return {
      ...(this.#hasKl && { beta: place === 'loss' ? inLoss : 0 }),
      ...(this.#hasBonus && { entropyCoefficient: this.entropyCoefficient }),
    };
  }

  compared(): void {
    if (this.#follows) this.#step = new MetricTally();
  }

  updateBegins(): void {
    if (this.#follows) this.#update = new MetricTally();
  }

  microBatchDone(pass: MicroBatchPass): void {
    this.#update?.add(metricsOfPass(pass));
  }

  updated(): void {
    if (this.#update) this.#step?.merge(this.#update);
    this.afterUpdate(this.#update?.values ?? {});
  }

  done({ kinds_P }: Batch, step: number): void {
    this.afterStep(step, kinds_P, this.#step?.values ?? {});
  }

  /** Takes in the metrics of an update. */
  afterUpdate(metrics: Readonly<Record<string, number>>): void {
    const { state, config } = this;
    // The entropy of the tokens that have the bonus; missing where no token was trained on.
    const entropy = metrics['entropy/top'] ?? metrics.entropy;
    if (entropy !== undefined) state.entropy = nextEntropy(state.entropy, entropy, config.entropy);
    state.updates++;
  }

  /**
   * Takes in the metrics of a step.
   *
   * @throws UserError when β follows a KL that a user's own loss does not report
   */
  afterStep(step: number, kinds: readonly string[], metrics: Readonly<Record<string, number>>): void {
    const { kl } = this.config;
    // A β that is not yet its own has no effect on the KL that it could follow.
    if (kl.control === 'fixed' || step < kl.warmupSteps) return;
    if (metrics.entropy !== undefined && metrics.kl === undefined) {
      throw new UserError(`kl.control=${kl.control} follows the KL, and the loss tells none`, {
        hint: 'Return it as metrics.means.kl of your loss, or use kl.control=fixed.',
      });
    }
    for (const kind of new Set(kinds)) {
      const measured = metrics[kind === '' ? 'kl' : `kl/${kind}`];
      // Missing where no token of the kind was trained on.
      if (measured !== undefined) this.state.betas[kind] = nextBeta(this.#of(kind), measured, kl);
    }
  }

  /** Whether a weight follows a metric. */
  get #follows(): boolean {
    return this.config.kl.control !== 'fixed' || this.config.entropy.adaptive;
  }

  get #hasKl(): boolean {
    return this.config.kl.beta > 0;
  }

  get #hasBonus(): boolean {
    const { adaptive, coefficient } = this.config.entropy;
    return adaptive || coefficient > 0;
  }

  #of(kind: string) {
    return this.state.betas[kind] ?? { beta: this.config.kl.beta, recent: [] };
  }
}
