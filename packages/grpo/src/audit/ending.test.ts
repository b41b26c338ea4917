import { afterAll, describe, expect, it } from 'vitest';
import { disposePolicies } from '../lab/lab-policy.js';
import type { LabRun } from '../lab/lab-run.js';
import { lettersTask } from '../lab/letters-task.js';
import type { SamplingOptions } from '../rollout/index.js';
import { stages as standard } from '../step/stages.js';
import { disagreements } from './audit.test.helper.js';

afterAll(disposePolicies);

const SETTINGS = ['rollout.minNewTokens=2'];

/** A run of letters that ends completions at any of these strings, and samples with other options. */
const sampling = (stop: string[], change: Partial<SamplingOptions> = {}): LabRun => ({
  task: lettersTask({ stop }),
  settings: SETTINGS,
  stages: {
    sample: (model, requests, options, ...rest) =>
      standard.sample(model, requests, { ...options, ...change }, ...rest),
  },
});

describe('the end of a completion', () => {
  it.each([[['b']], [['.', 'c']]])('is where an end or one of %j stands', async (stop) => {
    expect(await disagreements(['completion', 'text'], sampling(stop))).toEqual([]);
  });

  it.each<[string, LabRun, string[]]>([
    ['behind a stop string', sampling(['b', 'c'], { stop: ['c'] }), ['place of the end']],
    ['at a stop string of another task', sampling(['c'], { stop: ['b', 'c'] }), ['reason of the end']],
    ['before there may be one', sampling(['b'], { minNewTokens: 0 }), ['reason of the end']],
  ])('%s is found', async (_, run, quantities) => {
    expect(await disagreements('completion', run)).toEqual(expect.arrayContaining(quantities));
  });

  it.each<[string, LabRun['stages'], string]>([
    [
      'with the text of its neighbour',
      {
        async sample(...args) {
          const groups = await standard.sample(...args);
          return groups.map((group) => group.map((one, i) => ({ ...one, text: group.at(i - 1)!.text })));
        },
      },
      'text of the completion',
    ],
    [
      'with the end token in its text',
      {
        async sample(...args) {
          const groups = await standard.sample(...args);
          const { tokenizer } = args[0];
          return groups.map((group) => group.map((one) => ({ ...one, text: tokenizer.decode(one.ids) })));
        },
      },
      'text of the completion',
    ],
    [
      'that was cut and says that it stopped',
      {
        async sample(...args) {
          const groups = await standard.sample(...args);
          return groups.map((group) => group.map((one) => ({ ...one, finishReason: 'stop' as const })));
        },
      },
      'reason of the end',
    ],
    [
      'that may grow longer than declared',
      {
        sample: (model, requests, options, ...more) =>
          standard.sample(model, requests, { ...options, maxNewTokens: 5 }, ...more),
      },
      'reason of the end',
    ],
  ])('%s is found', async (_, stages, quantity) => {
    const run = { stages, settings: ['rollout.maxNewTokens=4'] };
    expect(await disagreements(['completion', 'text'], run)).toContain(quantity);
  });
});
