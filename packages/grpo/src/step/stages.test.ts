import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { Watch } from '../progress/watch.js';
import { grpoStep } from './grpo-step.js';
import { checkedStages, type Stages, stages } from './stages.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from './step.test.helper.js';

/** One step with these stages. */
const stepWith = (own: Partial<Stages>) =>
  grpoStep(
    trainerOf(fixtureModel('llama3'), [], checkedStages({ score: spreadRewards, ...own })),
    PROBLEMS,
    0,
    0.01,
  );

describe('stages of your own', () => {
  const sample =
    (change: (group: Awaited<ReturnType<Stages['sample']>>) => unknown): Stages['sample'] =>
    async (model, requests, options, seed) =>
      change(await stages.sample(model, requests, options, seed, new Watch())) as never;
  const holed = (group: readonly unknown[]) => [...group.slice(1), undefined];
  const cases: [found: string, own: Partial<Stages>][] = [
    ['render returned 3 prompts where 4 are due', { render: (...a) => stages.render(...a).slice(1) }],
    [
      'render returned prompt 0 with the id 1.5',
      { render: (...a) => stages.render(...a).map((prompt) => ({ ...prompt, ids: [1.5] })) },
    ],
    ['sample returned no list with 4 groups', { sample: sample(() => undefined) }],
    ['sample returned 5 groups where 4 are due', { sample: sample((groups) => [...groups, groups[0]]) }],
    [
      'sample returned 3 completions where 4 are due',
      { sample: sample((groups) => groups.map((group) => group.slice(1))) },
    ],
    [
      'sample returned completion 0 with no logprobs for \\d+ ids?',
      { sample: sample((groups) => groups.map((g) => g.map((one) => ({ ...one, logprobs: undefined })))) },
    ],
    ['sample returned completion 3 with nothing in it', { sample: sample((g) => g.map(holed)) }],
    ['score returned no names of rewards', { score: async () => undefined as never }],
    [
      'score returned 15 values where 16 are due',
      {
        score: async (...a) => {
          const table = await spreadRewards(...a);
          return { ...table, columns: table.columns.map((column) => column.slice(1)) };
        },
      },
    ],
    [
      'assemble returned 12 completions where 16 are due',
      { assemble: (_, given) => ({ ...given, completions_B: given.completions_B.slice(4) }) },
    ],
    [
      'advantage returned 1 advantage where 16 are due',
      { advantage: (...a) => ({ ...stages.advantage(...a), advantages: Float64Array.of(1) }) },
    ],
    [
      'logprob returned 1 log-probs for \\d+ tokens',
      {
        logprob: (...a) => {
          const scores = stages.logprob(...a);
          return { ...scores, logprobs_T: scores.logprobs_T.sum() };
        },
      },
    ],
    ['update returned no gradNorm', { update: () => undefined as never }],
  ];

  it.each(cases)('say that %s', async (found, own) => {
    const step = stepWith(own);
    await expect(step).rejects.toThrow(UserError);
    await expect(step).rejects.toThrow(new RegExp(`^your stage ${found}`));
  });

  it('of unknown names are refused, with the nearest', () => {
    expect(() => checkedStages({ advantages: stages.advantage } as never)).toThrow(
      'there is no stage advantages; did you mean advantage?',
    );
  });

  it('that return what the standard ones do are taken', async () => {
    const { gradNorm } = await stepWith({ ...stages, score: spreadRewards });
    expect(gradNorm).toBe((await stepWith({})).gradNorm);
  });
});
