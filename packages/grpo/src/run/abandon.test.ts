import { join } from 'node:path';
import { memory } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type RunOptions, remainsOf, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

const EVERYTHING = [
  'optimizer.learningRate=0.01',
  'objective.oldLogprobs=recompute',
  'objective.iterations=2',
  'objective.minibatches=2',
  'rollout.prompts=4',
  'groups.refills=1',
  'groups.replay=3',
  ...['kl.beta=0.05', 'kl.control=lagrangian', 'kl.target=0.001', 'kl.window=3', 'kl.rate=10'],
  ...['kl.referenceEvery=3', 'kl.referenceMix=0.1', 'entropy.adaptive=true', 'entropy.target=3'],
  ...['train.microBatchTokens=8', 'train.canaries=2', 'eval.samples=2', 'record.every=1'],
];

const cases: [string, Omit<RunOptions, 'output'>, stages: string[]][] = [
  [
    'GRPO with everything that changes while training',
    { settings: EVERYTHING },
    ['rollout', 'scoring', 'old', 'reference', 'audit', 'training', 'canaries', 'evaluation'],
  ],
  [
    'SFT',
    { command: 'sft', settings: ['sft.learningRate=0.01', 'train.microBatchTokens=30'] },
    ['audit', 'training', 'evaluation', 'scoring'],
  ],
  [
    'expert iteration of adapters with dropout',
    {
      command: 'expert',
      settings: [
        'expert.threshold=0.5',
        'sft.learningRate=0.1',
        'lora.rank=2',
        'lora.dropout=0.3',
        'train.microBatchTokens=8',
      ],
    },
    ['rollout', 'scoring', 'audit', 'training', 'evaluation'],
  ],
];

describe.each(cases)('%s', (_, options, stages) => {
  it('abandoned in each stage is the run that was never stopped', async () => {
    const root = tempFolder();
    const model = await tinyModelFolder();
    const at = (name: string) => ({
      ...options,
      output: join(root, name),
      settings: [...options.settings, 'eval.every=3', `model=${model}`],
    });
    await run(at('whole'));
    const live = memory();
    await run({ ...at('stopped'), stopAfter: 1 });
    for (const stage of stages) {
      // The audit's passes are those of another path, with a backward pass of its own.
      const within = options.command ? [1, 6] : [1, 8, 16, 24];
      for (const report of stage === 'audit' ? within : [1, 2]) {
        const { end, notes } = await run({ ...at('stopped'), resume: true, abortIn: { stage, report } });
        expect({ stage, interrupted: end.interrupted }).toEqual({ stage, interrupted: true });
        expect(notes.at(-1), stage).toMatch(
          /^(Step \d+|The evaluation after step \d+) is abandoned: a resumed run/,
        );
        expect(memory()).toEqual(live);
      }
    }
    const { end } = await run({ ...at('stopped'), resume: true });
    expect(end.interrupted).toBe(false);
    expect(remainsOf(join(root, 'stopped'))).toEqual(remainsOf(join(root, 'whole')));
  });
});

it('a step that has changed the weights is finished, and says so', async () => {
  const root = tempFolder();
  const settings = [...EVERYTHING, `model=${await tinyModelFolder()}`];
  const at = (name: string) => ({ output: join(root, name), settings });
  const { reports } = await run(at('whole'));
  const report = Math.ceil((reports.training! / 8) * 2.5);
  const stopped = await run({ ...at('stopped'), abortIn: { stage: 'training', report } });
  expect(stopped.rows.map(({ step }) => step)).toEqual([1, 2, 3]);
  const finished = 'Step 3 has changed the weights already: it is finished first.';
  expect(stopped.notes.filter((note) => /changed|abandoned/.test(note))).toEqual([finished]);
  await run({ ...at('stopped'), resume: true });
  expect(remainsOf(join(root, 'stopped'))).toEqual(remainsOf(join(root, 'whole')));
});
