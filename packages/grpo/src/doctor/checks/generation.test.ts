import { rowsOf, type StepRecord } from '../../trace/index.js';
import { change, startOf, testStepCheck } from '../planted.test.helper.js';
import { numbers } from '../record.test.helper.js';

/** Makes a completion the twin of the one before it. */
function twin({ completions }: StepRecord, completion: number): void {
  const doubled = <A extends Int32Array | Float32Array>(values: A): A[] =>
    rowsOf(values, completions!.lengths!).map((row, b, rows) => (b === completion ? rows[b - 1]! : row));
  const ids = doubled(completions!.ids!);
  // Unlikely enough to be no accident.
  for (const key of ['samplerLogprobs', 'sampledLogprobs'] as const)
    completions![key] = Float32Array.from(
      doubled(completions![key]!.map((value) => 3 * value)).flatMap((row) => [...row]),
    );
  completions!.ids = Int32Array.from(ids.flatMap((row) => [...row]));
  completions!.lengths = Int32Array.from(ids, (row) => row.length);
}

/** A policy that is nearly certain of every token, and right. */
function certain(record: StepRecord): void {
  change(record, 'policyLogprobs', () => Math.log(1 - 1e-4));
  change(record, 'entropies', () => -(1 - 1e-4) * Math.log(1 - 1e-4) - 1e-4 * Math.log(1e-4));
}

testStepCheck('B17.draws', [
  {
    name: 'a long completion twice',
    plant: (record) => twin(record, 9),
    verdict: 'fail',
    evidence: { completion: 9, values: { equals: 8 } },
  },
  {
    name: 'a long completion twice, in greedy decoding',
    plant: (record) => {
      twin(record, 9);
      record.declared!.temperature = 0;
    },
    verdict: 'not applicable',
  },
  {
    name: 'the rest of an equal completion was not drawn',
    plant: (record) => {
      twin(record, 9);
      const start = startOf(record, 8);
      record.completions!.sampledLogprobs!.fill(
        Number.NaN,
        start + 5,
        start + 2 * record.completions!.lengths![8]!,
      );
    },
    verdict: 'pass',
  },
]);

const allAlike = (entropy: number) => (record: StepRecord) => {
  const { completions } = record;
  completions!.ids!.fill(5);
  completions!.lengths!.fill(20);
  completions!.ids = new Int32Array(480).fill(5);
  record.scored = { lengths: new Int32Array(24).fill(20) };
  record.updates = [{ entropies: new Float32Array(480).fill(entropy) }];
};

testStepCheck('B17.unique', [
  {
    name: 'alike at high entropy: the sampler',
    plant: allAlike(2),
    verdict: 'warn',
    measured: { entropy: 40, alike: 6 },
  },
  {
    name: 'alike at low entropy: a learnt task',
    plant: allAlike(0.01),
    verdict: 'inform',
    evidence: { prompt: 0 },
  },
  {
    name: 'alike, and no entropy is known',
    plant: (record) => {
      allAlike(1)(record);
      delete record.updates;
    },
    verdict: 'inform',
  },
]);

testStepCheck('B15.first-token', [
  {
    name: 'penalties that see the prompt',
    into: { penalties: true },
    plant: (record) => {
      record.completions!.sampledLogprobs![startOf(record, 8)]! += 0.02;
    },
    verdict: 'fail',
    evidence: { completion: 8, token: 0 },
  },
  {
    name: 'with top-p the first token may be likelier',
    into: { penalties: true },
    plant: (record) => {
      record.declared!.topP = 0.9;
      record.completions!.sampledLogprobs![startOf(record, 8)]! += 0.05;
    },
    verdict: 'pass',
  },
  {
    name: 'with top-p it is not less likely',
    into: { penalties: true },
    plant: (record) => {
      record.declared!.topP = 0.9;
      record.completions!.sampledLogprobs![startOf(record, 8)]! -= 0.05;
    },
    verdict: 'fail',
    evidence: { completion: 8 },
  },
]);

testStepCheck('B18.override', [
  {
    name: 'top-p that nobody declared',
    plant: ({ completions }) => {
      completions!.sampledLogprobs = completions!.sampledLogprobs!.map((value, i) =>
        i % 7 ? value : value + 0.1,
      );
    },
    verdict: 'fail',
    evidence: { completion: 0, token: 0 },
  },
  {
    name: 'what the run declares is not known',
    plant: ({ declared }) => {
      delete declared!.topK;
    },
    verdict: 'not applicable',
  },
  {
    name: 'rounding of bfloat16',
    plant: ({ completions, declared }) => {
      declared!.dtype = 'bfloat16';
      completions!.sampledLogprobs = completions!.sampledLogprobs!.map((value) => value + 0.005);
    },
    verdict: 'pass',
  },
]);

testStepCheck('B19.surprise', [
  {
    name: 'tokens less likely than the entropy says',
    plant: (record) => change(record, 'policyLogprobs', (value) => value - 0.5),
    verdict: 'warn',
    measured: { flatter: true },
  },
  {
    name: 'tokens likelier',
    plant: (record) => change(record, 'policyLogprobs', (value) => value * 0.3),
    verdict: 'warn',
    measured: { flatter: false },
  },
  {
    name: 'tokens likelier, as a declared top-p makes them',
    plant: (record) => {
      record.declared!.topP = 0.9;
      change(record, 'policyLogprobs', (value) => value * 0.3);
    },
    verdict: 'inform',
  },
  {
    name: 'a policy that is nearly certain, and has not been wrong in this sample',
    plant: certain,
    verdict: 'pass',
  },
  {
    name: 'a nearly certain policy with one rare token',
    plant: (record) => {
      certain(record);
      record.updates![0]!.policyLogprobs![40] = Math.log(1e-4);
    },
    verdict: 'pass',
  },
  {
    name: 'masked tokens that were scored without attention',
    plant: (record) => {
      const start = startOf(record, 20);
      record.scored!.mask!.fill(0, start);
      record.updates![0]!.policyLogprobs!.fill(-30, start);
    },
    verdict: 'pass',
  },
  {
    name: 'tool tokens without a mask',
    plant: (record) => {
      delete record.scored!.mask;
      record.completions!.source![60] = 1;
    },
    verdict: 'not applicable',
  },
]);

testStepCheck('B19.truncation', [
  {
    name: 'a third of the probability cut off',
    plant: ({ completions }) => {
      completions!.sampledLogprobs = completions!.samplerLogprobs!.map((value) => value + 0.4);
    },
    verdict: 'warn',
  },
  {
    name: 'tool tokens without log-probs',
    plant: ({ completions }) => {
      completions!.sampledLogprobs = completions!.samplerLogprobs!.map((value, i) =>
        i % 5 ? value + 0.4 : Number.NaN,
      );
    },
    verdict: 'warn',
  },
]);

const temperatures =
  (own: number, other: number) =>
  ({ probes }: StepRecord) => {
    const random = numbers(1);
    probes!.temperatures = [
      { temperature: 1, mean: own, max: own + random(), tokens: 50 },
      { temperature: 0.7, mean: other, max: 1, tokens: 50 },
    ];
  };

testStepCheck('B19.temperature', [
  {
    name: 'scored at another temperature',
    plant: temperatures(0.3, 1e-6),
    verdict: 'fail',
    measured: { fits: 0.7 },
  },
  { name: 'agrees at none: not the temperature', plant: temperatures(0.3, 0.2), verdict: 'not applicable' },
]);

testStepCheck('B03.blank', [
  {
    name: 'blank ones',
    plant: ({ completions }) => {
      completions!.texts!.fill(' \n', 0, 8);
    },
    verdict: 'warn',
    evidence: { completion: 0 },
  },
  {
    name: 'one of 24',
    plant: ({ completions }) => {
      completions!.texts![0] = '';
    },
    verdict: 'pass',
  },
]);
