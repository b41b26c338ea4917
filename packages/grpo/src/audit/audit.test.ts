import { afterAll, describe, expect, it } from 'vitest';
import { disposePolicies } from '../lab/lab-policy.js';
import type { LabRun } from '../lab/lab-run.js';
import { stages as standard } from '../step/stages.js';
import type { HandOver } from '../trace/index.js';
import { comparisonsOf, disagreements } from './audit.test.helper.js';

afterAll(disposePolicies);

/** Most steps of a run are audited so. */
const inPart = (run: LabRun = {}): LabRun => ({ ...run, isAuditedInPart: true });
const WITHOUT_PASS: HandOver[] = [
  'run',
  'prompt',
  'text',
  'completion',
  'reward',
  'advantage',
  'loss',
  'update',
];

describe('a step that is audited in part', () => {
  it('is held to all that needs no pass of the plain model, and agrees with it', async () => {
    const comparisons = await comparisonsOf(inPart());
    const handOvers = new Set(comparisons.map(({ handOver }) => handOver));
    expect([...handOvers]).toEqual(
      expect.arrayContaining(['prompt', 'text', 'completion', 'loss', 'update']),
    );
    expect(handOvers.has('gradient')).toBe(false);
    expect(await disagreements(WITHOUT_PASS, inPart())).toEqual([]);
  });

  it.each<[string, LabRun['stages'], string]>([
    [
      'a prompt without its last token',
      { render: (...args) => standard.render(...args).map((one) => ({ ...one, ids: one.ids.slice(0, -1) })) },
      'ids of the prompt',
    ],
    [
      'an end that is told as the limit',
      {
        async sample(...args) {
          const groups = await standard.sample(...args);
          return groups.map((group) => group.map((one) => ({ ...one, finishReason: 'length' as const })));
        },
      },
      'reason of the end',
    ],
    [
      'tokens that weigh twice in the loss',
      {
        objective(input) {
          const output = standard.objective(input);
          return { ...output, terms: { ...output.terms, weights_T: output.terms!.weights_T!.mul(2) } };
        },
      },
      'weight of a token in the loss',
    ],
  ])('finds %s', async (_, stages, quantity) => {
    expect(await disagreements(WITHOUT_PASS, inPart({ stages }))).toContain(quantity);
  });
});
