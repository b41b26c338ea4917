/** Several processes of a run, as trainers of one process that wait for each other. */
import { noGrad, type Tensor, tidy } from '@grpo/torch';
import type { Decoder, Model } from '../../models/index.js';
import type { Problem } from '../../tasks/task.js';
import { grpoStep } from '../grpo-step.js';
import type { StepObserver } from '../observer.js';
import type { Stages } from '../stages.js';
import { fixtureModel, trainerOf } from '../step.test.helper.js';
import type { Trainer } from '../trainer.js';
import type { Peers } from './peers.js';

/** What the processes do at one time: all do the same. */
interface Meeting {
  what: string;
  given: unknown[];
  met: Promise<unknown[]>;
  resolve(all: unknown[]): void;
  reject(error: Error): void;
}

/** Peers in one process. */
export class Meetings {
  readonly #meetings: Meeting[] = [];
  readonly #losses: ((error: Error) => void)[] = [];
  #failure: Error | undefined;

  constructor(readonly size: number) {}

  /** What the process of a rank sees of them. */
  of(rank: number): Peers & { fail(reason: string): void; lost: Promise<never> } {
    let turn = 0;
    const lost = new Promise<never>((_, reject) => this.#losses.push(reject));
    // Nobody may listen.
    lost.catch(() => {});
    const meet = <T>(what: string, own: T) => this.#meet(turn++, rank, what, own) as Promise<T[]>;
    return {
      rank,
      size: this.size,
      lost,
      fail: (reason) => this.fail(new Error(`rank ${rank}: ${reason}`)),
      progress: () => {},
      gather: async (bytes) => (await meet('gather', bytes)).map((one) => one.slice()),
      broadcast: async (tensors) => {
        const [first] = await meet('broadcast', tensors);
        if (rank > 0) noGrad(() => tensors.forEach((own, i) => void own.copy_(first![i]!)));
        await meet('broadcast is read', undefined);
      },
      sum: async (tensors) => {
        const sums = sumOf(await meet('sum', tensors));
        await meet('sum is read', undefined);
        noGrad(() => tensors.forEach((own, i) => void own.copy_(sums[i]!)));
        for (const one of sums) one.dispose();
      },
    };
  }

  /** Ends the waiting of all. */
  fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#meetings) reject(error);
    for (const reject of this.#losses) reject(error);
  }

  async #meet(turn: number, rank: number, what: string, own: unknown): Promise<unknown[]> {
    if (this.#failure) throw this.#failure;
    const meeting = this.#meetings[turn] ?? meetingOf(what);
    this.#meetings[turn] = meeting;
    if (meeting.what !== what) throw new Error(`rank ${rank} comes to ${what}, others to ${meeting.what}`);
    meeting.given[rank] = own;
    if (Object.keys(meeting.given).length === this.size) meeting.resolve(meeting.given);
    return await meeting.met;
  }
}

function meetingOf(what: string): Meeting {
  let ends: Pick<Meeting, 'resolve' | 'reject'> | undefined;
  const met = new Promise<unknown[]>((resolve, reject) => {
    ends = { resolve, reject };
  });
  // Nobody may wait for it yet.
  met.catch(() => {});
  return { what, given: [], met, ...ends! };
}

const sumOf = (all: readonly (readonly Tensor[])[]): Tensor[] =>
  noGrad(() =>
    all[0]!.map((first, i) => {
      const sum = first.clone();
      for (const own of all.slice(1)) sum.add_(own[i]!);
      return sum;
    }),
  );

/** Does the work of each rank at the same time; the error of the first that fails is that of all. */
export async function atOnce<T>(
  size: number,
  work: (peers: ReturnType<Meetings['of']>) => Promise<T>,
): Promise<T[]> {
  const meetings = new Meetings(size);
  const all = Array.from({ length: size }, async (_, rank) => {
    try {
      return await work(meetings.of(rank));
    } catch (error) {
      meetings.fail(error as Error);
      throw error;
    }
  });
  const results = await Promise.allSettled(all);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** How some steps are taken. */
export interface RankedSteps {
  settings?: readonly string[];
  problems?: readonly Problem[];
  steps?: number;
  learningRate?: number;
  /** The model of a process; that of a fixture unless given. */
  model?: () => Model;
  reference?: () => Decoder;
  /** Stages of a process in place of the standard ones. */
  stages?: (peers: Peers | undefined) => Partial<Stages>;
  /** What else a process trains with. */
  trainer?: (trainer: Trainer) => Partial<Trainer>;
  /** What a process sees of its peers, in place of them. */
  peers?: (peers: Peers) => Peers;
}

/** What a process has after its steps. */
export interface RankedResult {
  /** Sampled ids, by step and completion. */
  ids: number[][][];
  advantages: number[][];
  losses: number[];
  gradNorms: number[];
  /** The gradient of the first update. */
  gradient: Map<string, Float32Array>;
  weights: Map<string, Float32Array>;
}

/** Takes steps with so many processes; one has no peers. */
export function takeSteps(size: number, given: RankedSteps = {}): Promise<RankedResult[]> {
  if (size === 1) return Promise.all([stepsOf(undefined, given)]);
  return atOnce(size, (peers) => stepsOf(given.peers?.(peers) ?? peers, given));
}

async function stepsOf(
  peers: Peers | undefined,
  { settings = [], problems = PROMPTS, steps = 1, learningRate = 1e-3, ...given }: RankedSteps,
): Promise<RankedResult> {
  const model = given.model?.() ?? fixtureModel('llama3');
  const own = ['rollout.invariant=true', 'optimizer.maxGradNorm=0', ...settings];
  const stages = { score: scoreByIds, update: descend, ...given.stages?.(peers) };
  const made = trainerOf(model, own, stages, given.reference?.());
  const gradients = new FirstGradient(made);
  const whole = { ...made, peers, observers: [gradients] };
  const trainer: Trainer = { ...whole, ...given.trainer?.(whole) };
  const result: Omit<RankedResult, 'gradient' | 'weights'> = {
    ids: [],
    advantages: [],
    losses: [],
    gradNorms: [],
  };
  for (let step = 0; step < steps; step++) {
    const { batch, loss, gradNorm } = await grpoStep(trainer, problems, step, learningRate);
    result.ids.push(batch.completions_B.map(({ ids }) => [...ids]));
    result.advantages.push([...batch.advantages.advantages]);
    result.losses.push(loss);
    result.gradNorms.push(gradNorm);
  }
  return { ...result, gradient: gradients.first!, weights: valuesOf(model.decoder.trainable) };
}

/** Keeps the gradient of the first update, as the optimizer steps with it. */
class FirstGradient implements StepObserver {
  first: Map<string, Float32Array> | undefined;

  constructor(private readonly trainer: Trainer) {}

  beforeUpdate(): void {
    this.first ??= valuesOf(this.trainer.optimizer.gradients);
  }
}

const valuesOf = (tensors: ReadonlyMap<string, Tensor>) =>
  new Map([...tensors].map(([name, tensor]) => [name, tensor.detach().toTypedArray() as Float32Array]));

/** Prompts of different lengths. */
export const PROMPTS: readonly Problem[] = ['the one', '2+2=', 'Why? Since the', 'a', 'b c d'].map(
  (prompt, i) => {
    return { prompt, row: { i } };
  },
);

/** Rewards that differ within each group, by the sampled ids: wherever they are computed they are the same. */
export const scoreByIds: Stages['score'] = async (_task, problems, groups) => {
  const values = groups.flatMap((group, p) =>
    group.map(({ ids }, g) =>
      Math.sin(ids.reduce((sum, id, t) => sum + id * (t + 1), 0) + 3 * g + placeOf(problems[p]!)),
    ),
  );
  return {
    names: ['by ids'],
    weights: [1],
    columns: [Float64Array.from(values)],
    unscored: new Uint8Array(values.length),
    failures: [],
  };
};

/** The place of a prompt in the data. */
export const placeOf = ({ row }: Problem): number => (row as { i: number }).i;

/** Plain gradient descent. */
export const descend: Stages['update'] = (optimizer, learningRate) => {
  const norms = optimizer.norms();
  noGrad(() =>
    tidy(() => {
      for (const { parameter, gradient } of optimizer.weights())
        if (gradient) parameter.add_(gradient, { alpha: -learningRate });
    }),
  );
  optimizer.zeroGrad();
  return norms;
};

/** ‖a − b‖ / ‖b‖ over all tensors. */
export function distance(a: ReadonlyMap<string, Float32Array>, b: ReadonlyMap<string, Float32Array>): number {
  let [difference, size] = [0, 0];
  for (const [name, values] of b) {
    for (const [i, value] of values.entries()) {
      difference += (a.get(name)![i]! - value) ** 2;
      size += value ** 2;
    }
  }
  return Math.sqrt(difference / size);
}
