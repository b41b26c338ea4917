import { afterAll, describe, expect, it } from 'vitest';
import { disposePolicies } from '../lab/lab-policy.js';
import type { LabRun } from '../lab/lab-run.js';
import { lettersTask } from '../lab/letters-task.js';
import type { Completion, SamplingOptions } from '../rollout/index.js';
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

/** A run that changes its completions once they are sampled. */
const changing = (change: (one: Completion) => Completion): LabRun => ({
  task: lettersTask({ stop: ['b'] }),
  settings: SETTINGS,
  stages: {
    sample: async (...args) => (await standard.sample(...args)).map((group) => group.map(change)),
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
    [
      'called by another name',
      changing((one) => ({ ...one, finishReason: one.finishReason === 'stop' ? 'length' : 'stop' })),
      ['reason of the end'],
    ],
  ])('%s is found', async (_, run, quantities) => {
    expect(await disagreements('completion', run)).toEqual(expect.arrayContaining(quantities));
  });
});
