import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffusionRecord } from '../doctor/diffusion-record.test.helper.js';
import { inputs, membersOf, scoredRows, updateRows } from '../doctor/inputs.js';
import { richRecord } from '../doctor/rich-record.test.helper.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { readStepRecord, type Stored } from './read.js';
import { readCompletions } from './read-completions.js';
import type { StepRecord, UpdateRecord } from './record.js';
import { shapeProblem } from './shapes.js';
import { trlRun } from './trl-records.test.helper.js';
import { writeStepRecord } from './write.js';

/** Everything but arrays of tokens: of these the filter is asked by name. */
const small = ({ path }: Stored) =>
  !/ids|Ids|source|mask|region|order|probs|entropies|ratios|Terms|eights$/.test(path);

/** Two updates of other completions each, in an order of their own, and a second pass over both. */
function inMinibatches(): StepRecord {
  const record = richRecord({ step: 2 });
  const lengths = record.scored!.lengths!;
  const starts = [...lengths].map((_, b) => lengths.subarray(0, b).reduce((a, n) => a + n, 0));
  const parts = [0, 1].map((half) => [...lengths.keys()].filter((b) => b % 2 === half).reverse());
  record.updates = record.updates!.flatMap((update) =>
    parts.map((own) => {
      const rows = Object.entries(update).map(([key, value]) => [
        key,
        value instanceof Float32Array
          ? Float32Array.from(own.flatMap((b) => [...value.subarray(starts[b]!, starts[b]! + lengths[b]!)]))
          : value,
      ]);
      return { ...Object.fromEntries(rows), completions: Int32Array.from(own) } as UpdateRecord;
    }),
  );
  const values = record.rewards!.values!;
  Object.assign(record.rewards!, {
    names: ['right', 'short'],
    weights: [1, 0.5],
    values: Float64Array.from([...values, ...values.map((value, b) => value + b)]),
  });
  record.rewards!.failures = [
    { reward: 'right', completion: 3, reason: 'x' },
    { reward: 'right', completion: null, reason: 'y' },
  ];
  record.completions!.texts![5] = '';
  record.prompts!.answers![1] = null;
  record.prompts!.replayed = Int32Array.of(0, 0, 1, 0, 0, 1);
  return record;
}

const records: [name: string, record: () => StepRecord][] = [
  ['causal, two updates', () => richRecord({ step: 2 })],
  ['with the ids that sampling kept', () => richRecord({ kept: true })],
  ['in minibatches, with replayed groups and failures', inMinibatches],
  ['of a masked-diffusion model', () => diffusionRecord('coupled')],
  ['of TRL', () => readStepRecord(join(trlRun('clean'), 'steps', '000002'))],
];

const TOKENS = [
  'policyLogprobs',
  'entropies',
  'ratios',
  'policyTerms',
  'klTerms',
  'weights',
  'klWeights',
] as const;
const SCORED = ['mask', 'oldLogprobs', 'referenceLogprobs'] as const;

/** All that a record has of one completion, as the checks are given it. */
function completionOf(record: StepRecord, b: number): object {
  const p = record.completions!.prompt![b]!;
  const { completions, rewards, advantages, updates, prompts } = record;
  const rows = [
    'ids',
    'sources',
    'samplerLogprobs',
    'sampledLogprobs',
    'scoredIds',
    'masks',
    'regions',
    'orders',
  ];
  const B = completions!.prompt!.length;
  return {
    ...Object.fromEntries(rows.map((key) => [key, (inputs[key as 'ids'].from(record) ?? [])[b]])),
    plans: inputs.plans.from(record)?.map((views) => views[b]),
    promptIds: inputs.promptIds.from(record)?.[p],
    scoredPromptIds: inputs.scoredPromptIds.from(record)?.[p],
    promptText: prompts?.texts?.[p],
    answer: prompts?.answers?.[p],
    replayed: prompts?.replayed?.[p],
    text: completions?.texts?.[b],
    finish: completions?.finish?.[b],
    values: rewards?.names?.map((_, k) => rewards.values?.[k * B + b]),
    failures: rewards?.failures?.flatMap((one) =>
      one.completion === null || one.completion === b ? [one.reason] : [],
    ),
    advantage: advantages?.[b],
    updates: updates?.map((update) => {
      const place = membersOf(record, update).indexOf(b);
      return [
        ...TOKENS.map((key) => updateRows(record, update, key)?.[place]),
        ...SCORED.map((key) => scoredRows(record, update, key as 'mask')?.[place]),
        update.loss,
      ];
    }),
  };
}

describe.each(records)('a record %s', (_, make) => {
  const written = () => {
    const whole = make();
    const folder = tempFolder();
    writeStepRecord(folder, whole);
    return { whole, folder, head: readStepRecord(folder, small) };
  };

  it('lacks the arrays that are not read, and nothing else', () => {
    const { whole, head } = written();
    expect(head.completions!.ids).toBeUndefined();
    expect(head.updates!.every((update) => !update.policyLogprobs && update.loss !== undefined)).toBe(true);
    expect(head.completions!.lengths).toEqual(whole.completions!.lengths);
    expect(head.completions!.texts).toEqual(whole.completions!.texts);
    expect(head.advantages).toEqual(whole.advantages);
  });

  it.each([
    ['its texts', small],
    ['no texts', (one: Stored) => small(one) && !/[tT]exts$/.test(one.path)],
  ])('cut to some completions has their rows, from a head with %s', (_, isRead) => {
    const { whole, folder } = written();
    const head = readStepRecord(folder, isRead);
    const B = whole.completions!.prompt!.length;
    const some = fc.uniqueArray(fc.nat(B - 1), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(some, (drawn) => {
        const chosen = [...drawn].sort((a, b) => a - b);
        const cut = readCompletions(folder, head, chosen);
        expect(shapeProblem(cut)).toBeUndefined();
        expect(cut.completions!.prompt).toHaveLength(chosen.length);
        for (const [i, b] of chosen.entries()) expect(completionOf(cut, i)).toEqual(completionOf(whole, b));
      }),
      { numRuns: 30 },
    );
    expect(readStepRecord(folder, isRead)).toEqual(head);
  });
});

it('a file with fewer rows than the record tells is refused', () => {
  const folder = tempFolder();
  writeStepRecord(folder, richRecord());
  const head = readStepRecord(folder, small);
  const lengths = head.scored!.lengths!.map((length) => 2 * length);
  const longer = { ...head, scored: { ...head.scored!, lengths } };
  expect(() => readCompletions(folder, longer, [lengths.length - 1])).toThrow(/elements, \d+ were expected/);
});
