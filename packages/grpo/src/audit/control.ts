import type { Batch } from '../step/batch.js';
import type { ControlState } from '../step/control.js';
import type { MicroBatchPass } from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';
import type { Comparison } from '../trace/index.js';
import type { FollowingMeasure, Measured } from './context.js';
import { type Pair, worstByQuantity, worstOf } from './worst.js';

/** The state that each control should have now, by the steps that were watched. */
const expected = new WeakMap<Trainer['control'], ControlState>();

/** Relative: the same few operations in another order. */
const ROUNDING = 1e-9;
/** The same of a sum over the tokens of an update, in float32. */
const SUMMING = 1e-5;

/** Sums of a metric and of what it is the mean over, by its name. */
type Sums = Map<string, { sum: number; of: number }>;

/** Holds the weights of KL and entropy bonus, and how they follow what a step measures, to the declared rules. */
export class ControlAudit implements FollowingMeasure {
  readonly #comparisons: Comparison[] = [];
  #batch: Batch | undefined;
  #step = 0;
  #state: ControlState | undefined;
  #ofUpdate: Sums = new Map();
  readonly #ofStep: Sums = new Map();

  constructor(private readonly trainer: Trainer) {}

  compared(batch: Batch, step: number): void {
    const { control } = this.trainer;
    this.#batch = batch;
    this.#step = step;
    this.#state = structuredClone(control.state);
    // A resumed run leaves the records of one without the stop; what it restored is held to its checkpoint elsewhere.
    if (step > 0) this.#compareStates(control.state, expected.get(control) ?? control.state);
  }

  updateBegins(): void {
    const { config, control } = this.trainer;
    const { kl, entropy } = config;
    const { problems, betas_P } = this.#batch!;
    this.#ofUpdate = new Map();
    this.#add(
      'kl',
      'β of a problem',
      problems.map((problem, prompt) => ({
        found: betas_P[prompt] ?? Number.NaN,
        plain: kl.beta > 0 ? this.#warmed(this.#betaOf(kindOf(problem.row, kl.kindKey)).beta) : 0,
        prompt,
      })),
    );
    const { coefficient, last } = this.#state!.entropy;
    const isOn = !entropy.adaptive || (last !== null && last <= entropy.target);
    this.#add('loss', 'weight of the entropy bonus', [
      { found: control.entropyCoefficient, plain: isOn ? coefficient : 0 },
    ]);
  }

  microBatchDone({ scores, input, output }: MicroBatchPass): void {
    const { adaptive } = this.trainer.config.entropy;
    const means = output.metrics?.means ?? {};
    const entropy = { sum: 0, of: 0 };
    if (adaptive)
      for (const [t, nats] of scores.entropies_T.detach().toNumbers().entries())
        if (input.mask![t]) {
          entropy.sum += nats;
          entropy.of++;
        }
    for (const [name, share] of Object.entries({ entropy, ...means })) addTo(this.#ofUpdate, name, share);
  }

  updated(): void {
    const { adaptive, target, delta, least, most } = this.trainer.config.entropy;
    const state = this.#state!;
    state.updates++;
    for (const [name, share] of this.#ofUpdate) addTo(this.#ofStep, name, share);
    const measured = meanOf(this.#ofUpdate, 'entropy/top') ?? meanOf(this.#ofUpdate, 'entropy');
    if (!adaptive || measured === undefined) return;
    const change = measured <= target ? delta : -delta;
    const coefficient = Math.min(most, Math.max(least, state.entropy.coefficient + change));
    state.entropy = { coefficient, last: measured };
  }

  done({ problems }: Batch): void {
    const { control, config } = this.trainer;
    const { control: how, warmupSteps, kindKey } = config.kl;
    const state = this.#state!;
    if (how !== 'fixed' && this.#step >= warmupSteps)
      for (const kind of new Set(problems.map(({ row }) => kindOf(row, kindKey)))) {
        const measured = meanOf(this.#ofStep, kind === '' ? 'kl' : `kl/${kind}`);
        if (measured !== undefined) state.betas[kind] = this.#moved(this.#betaOf(kind), measured);
      }
    expected.set(control, state);
  }

  get measured(): Measured[] {
    return [{ comparisons: worstByQuantity(this.#comparisons) }];
  }

  #betaOf(kind: string) {
    return this.#state!.betas[kind] ?? { beta: this.trainer.config.kl.beta, recent: [] };
  }

  #warmed(beta: number): number {
    const { warmupSteps, warmup } = this.trainer.config.kl;
    if (this.#step >= warmupSteps) return beta;
    return warmup === 'zero' ? 0 : (beta * this.#step) / warmupSteps;
  }

  /** β after a step: up while the KL of the last steps is above its target, down while it is below. */
  #moved({ beta, recent }: { beta: number; recent: readonly number[] }, measured: number) {
    const {
      control,
      target = 0,
      band,
      up,
      down,
      rate,
      least,
      most = Number.POSITIVE_INFINITY,
      window,
    } = this.trainer.config.kl;
    const kept = [...recent, measured].slice(-window);
    const sorted = [...kept].sort((a, b) => a - b);
    const [low, high] = [Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2)];
    const gap = (sorted[low]! + sorted[high]!) / 2 - target;
    const factor = gap > target * band ? up : gap < -target * band ? down : 1;
    const moved = control === 'lagrangian' ? beta + rate * gap : beta * factor;
    return { beta: Math.min(most, Math.max(least, moved)), recent: kept };
  }

  #compareStates({ betas, entropy, updates }: ControlState, plain: ControlState): void {
    const kinds = Object.keys({ ...betas, ...plain.betas });
    this.#add(
      'kl',
      'β after the step before',
      kinds.map((kind) => ({
        found: betas[kind]?.beta ?? Number.NaN,
        plain: plain.betas[kind]?.beta ?? Number.NaN,
      })),
    );
    this.#add('loss', 'weight of the entropy bonus after the step before', [
      { found: entropy.coefficient, plain: plain.entropy.coefficient },
    ]);
    const known = (last: number | null) => last ?? 'none yet';
    this.#add(
      'loss',
      'entropy that the bonus follows',
      [{ found: known(entropy.last), plain: known(plain.entropy.last) }],
      SUMMING,
    );
    this.#add('run', 'updates of the run so far', [{ found: updates, plain: plain.updates }]);
  }

  #add(
    handOver: Comparison['handOver'],
    quantity: string,
    pairs: readonly Omit<Pair, 'bound'>[],
    rounding = ROUNDING,
  ): void {
    const bounded = pairs.map((pair) => ({ ...pair, bound: rounding * Math.abs(Number(pair.plain) || 0) }));
    this.#comparisons.push(...worstOf(handOver, quantity, bounded));
  }
}

const kindOf = (row: unknown, key: string | undefined): string =>
  key === undefined ? '' : String((row as Record<string, unknown>)[key]);

function addTo(sums: Sums, name: string, share: { sum: number; of: number }): void {
  const own = sums.get(name) ?? { sum: 0, of: 0 };
  sums.set(name, { sum: own.sum + share.sum, of: own.of + share.of });
}

function meanOf(sums: Sums, name: string): number | undefined {
  const { sum, of } = sums.get(name) ?? { sum: 0, of: 0 };
  return of > 0 ? sum / of : undefined;
}
