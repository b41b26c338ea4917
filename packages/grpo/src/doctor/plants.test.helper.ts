/** Faults that several tests put into a right record. */
import { declaredByBoth } from '../trace/declared.js';
import type { Probes, StepRecord, UpdateRecord, WeightProbe } from '../trace/index.js';
import { examine } from './examine.js';
import { groupsOf } from './groups.js';
import { change, startOf } from './planted.test.helper.js';
import { cleanRecord } from './record.test.helper.js';
import { registry } from './registry.js';

type Canary = NonNullable<Probes['canaries']>[number];

/** Completions of the groups that are still learning, of which 3 of 4 earn least. */
export const answerWith =
  (text: (prompt: number) => string) =>
  ({ completions }: StepRecord) => {
    completions!.texts = completions!.texts!.map((own, b) => (b < 8 ? own : text(completions!.prompt![b]!)));
  };

export const lastToken = (record: StepRecord, completion: number) => record.scored!.lengths![completion]! - 1;

/** Puts a mask value at a token of a completion. */
export const setMask = (record: StepRecord, completion: number, token: number, value: number) => {
  record.scored!.mask![startOf(record, completion) + token] = value;
};

export const half = ({ declared }: StepRecord) => {
  declared!.dtype = 'bfloat16';
};

export const all =
  (...plants: ((record: StepRecord) => void)[]) =>
  (record: StepRecord) => {
    for (const plant of plants) plant(record);
  };

/** How far policy and sampler are off at the declared temperature, at 0.7, and by the logits after a token. */
export const offPlainly =
  (side: 'policy' | 'sampler', ...means: [own: number, other: number, shifted: number]) =>
  ({ probes }: StepRecord) => {
    for (const [i, mean] of means.entries()) probes!.plainScoring![i]![side].mean = mean;
  };

/** Sets the sampler's log-probs off the policy's of the first update. */
export const sampled =
  (by: (value: number, token: number) => number) =>
  ({ completions, updates }: StepRecord) => {
    completions!.samplerLogprobs = updates![0]!.policyLogprobs!.map((value, t) => value + by(value, t));
  };

/** Changes the canaries of the right record: a gold answer, a blank and the gold of another row, on each of four rows. */
export const changeCanaries =
  (by: (canary: Canary) => Partial<Canary>) =>
  ({ probes }: StepRecord) => {
    probes!.canaries = probes!.canaries!.map((canary) => ({ ...canary, ...by(canary) }));
  };

/** A KL that is taken from the rewards: of two equal completions it differs by rounding. */
export const penalized = ({ declared, rewards }: StepRecord) => {
  declared!.kl!.place = 'reward';
  const penalties = rewards!.totals!.map((_, b) => 0.1 + 1e-7 * (b % 5));
  rewards!.names = ['right', 'kl_penalty'];
  rewards!.weights = [1, -1];
  rewards!.values = Float64Array.from([...rewards!.values!, ...penalties]);
  rewards!.totals = rewards!.totals!.map((total, b) => total - penalties[b]!);
};

/** Changes the probe of the one server. */
export const probed =
  (by: (probe: WeightProbe) => { [K in keyof WeightProbe]?: WeightProbe[K] | undefined }) =>
  ({ servers }: StepRecord) => {
    const [server] = servers!;
    server!.probe = { ...server!.probe!, ...by(server!.probe!) } as WeightProbe;
  };

export const onRows = (kind: string, row: number, changed: Partial<Canary>) =>
  changeCanaries((canary) => (canary.kind === kind && (canary.row ?? 9) <= row ? changed : {}));

export const unscored = ({ rewards, advantages }: StepRecord) => {
  rewards!.totals!.fill(Number.NaN, 12, 14);
  advantages!.fill(0, 12, 14);
  // Two equal ones are left of the group.
  advantages!.fill(0, 14, 16);
};

export const declare = (changes: NonNullable<StepRecord['declared']>) => (record: StepRecord) => {
  record.declared = declaredByBoth(record.declared, changes);
};

export const scaled = (epsilon: number, ddof: number) =>
  recipe((own) => own.map((r) => (r - mean(own)) / (deviation(own, ddof) + epsilon)));

export const deviation = (values: readonly number[], ddof = 1) => {
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - ddof));
};

export const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** Advantages made anew, group by group, from rewards. */
export const recipe =
  (advantagesOf: (rewards: number[], all: readonly number[]) => number[]) =>
  ({ rewards, advantages, completions }: StepRecord): void => {
    for (const group of groupsOf(completions!.prompt!)) {
      const own = advantagesOf(
        group.map((b) => rewards!.totals![b]!),
        [...rewards!.totals!],
      );
      for (const [i, b] of group.entries()) advantages![b] = own[i]!;
    }
  };

export const undeclared = ({ declared }: StepRecord) => {
  delete declared!.advantage;
};

/** As TRL computes them: the mean of equal rewards is off by rounding. */
export const inFloat32 = (reward: number) => (record: StepRecord) => {
  record.rewards!.totals!.fill(reward, 0, 8);
  for (let b = 0; b < 8; b++) record.advantages![b] = -(reward * 2 ** -23) / 1e-4;
};

/** Of completions that were masked as a whole, and then scored without attention. */
export const maskedGarbage = (record: StepRecord) => {
  const start = startOf(record, 20);
  record.scored!.mask!.fill(0, start);
  record.updates![0]!.policyLogprobs!.fill(-30, start);
};

export const off = (by: number) => (record: StepRecord) =>
  change(record, 'policyLogprobs', (value, i) => value + (i % 2 ? by : -by));

/** Sequence ratios, as GSPO has them. */
export const sequences = (record: StepRecord) => {
  const update = record.updates![1]!;
  let at = 0;
  for (const length of record.scored!.lengths!) {
    const own = update.ratios!.subarray(at, at + length);
    at += length;
    own.fill(Math.exp(own.reduce((sum, ratio) => sum + Math.log(ratio), 0) / length));
  }
};

/** Weighs each token by its completion’s length. */
export const weigh =
  (weightOf: (length: number, rows: number, tokens: number) => number) =>
  (record: StepRecord): void => {
    const lengths = [...record.scored!.lengths!];
    const tokens = lengths.reduce((a, b) => a + b, 0);
    const weights = lengths.flatMap((length) =>
      Array<number>(length).fill(weightOf(length, lengths.length, tokens)),
    );
    for (const update of record.updates!) update.weights = Float32Array.from(weights);
  };

export const losses =
  (first: number, second = first) =>
  (record: StepRecord) => {
    for (const [i, loss] of [first, second].entries()) record.updates![i]!.loss = loss;
  };

/** The KL of each token of the first update from log π − log π_ref. */
export const estimate = (of: (d: number) => number) => (record: StepRecord) => {
  const policy = record.updates![0]!.policyLogprobs!;
  const reference = record.scored!.referenceLogprobs!;
  change(record, 'klTerms', (_, i) => of(policy[i]! - reference[i]!));
};

/** What a check over the run says of them. */
export function judgeRun(code: string, records: StepRecord[]) {
  const checks = registry.filter((check) => check.code === code);
  const { findings, judgements } = examine({ records }, checks);
  return findings[0] ?? judgements[0]!;
}

/** Records of some steps, each changed. */
export const recordsOf = (steps: readonly number[], change: (record: StepRecord, step: number) => void) =>
  steps.map((step) => {
    const record = cleanRecord(step, step);
    change(record, step);
    return record;
  });

export const facts = (changes: UpdateRecord) => (record: StepRecord) => {
  record.updates![0] = { ...record.updates![0], ...changes };
};
