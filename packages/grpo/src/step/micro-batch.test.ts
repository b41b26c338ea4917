import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MaskedView, MaskPlan } from '../objective/index.js';
import { type Groups, type MicroBatch, membersOf, microBatchAt } from './micro-batch.js';

/** Groups of these lengths; every token is an id of its own. */
function groupsOf(promptLengths: readonly number[], completionLengths: readonly number[]): Groups {
  let next = 0;
  const take = (length: number) => ({ ids: Array.from({ length }, () => next++) });
  return { prompts: promptLengths.map(take), completions_B: completionLengths.map(take) };
}

/** All of them with one budget. */
function microBatches(
  groups: Groups,
  chosen: readonly number[],
  budget: number,
  slack?: number,
): MicroBatch[] {
  const members = membersOf(groups, chosen);
  const batches: MicroBatch[] = [];
  for (let done = 0; done < members.length; done += batches.at(-1)!.count)
    batches.push(microBatchAt(groups, members, done, budget, { slack }));
  return batches;
}

/** Tokens that are computed, each prompt once. */
const cost = ({ groups }: MicroBatch) =>
  groups.reduce((sum, { prompt, completions }) => sum + prompt.length + completions.flat().length, 0);

describe('micro-batches', () => {
  it('share a prompt among its completions, as far as the budget goes', () => {
    const groups = groupsOf([10, 20], [5, 5, 5, 1, 2, 3]);
    const summary = (budget: number) => microBatches(groups, [0, 1], budget).map(({ members }) => members);
    expect(summary(1000)).toEqual([[0, 1, 2, 3, 4, 5]]);
    // Up to twice the budget a group is not cut.
    expect(summary(13)).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    // 10 + 5 + 5 + 5, and 20 + 1 + 2 + 3: the second group goes with the first as soon as half of it fits.
    expect(summary(37)).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(summary(38)).toEqual([[0, 1, 2, 3, 4, 5]]);
    // Where memory is short all of it must fit.
    const short = (budget: number) => microBatches(groups, [0, 1], budget, 1).map(({ count }) => count);
    expect([short(50), short(51)]).toEqual([[3, 3], [6]]);
    // The second prompt is counted again where its group is cut.
    expect(summary(12)).toEqual([[0], [1, 2], [3], [4], [5]]);
    const longer = groupsOf([10], [5, 5, 5, 5, 5, 5, 5, 5]);
    expect(microBatches(longer, [0], 23).map(({ members }) => members)).toEqual([
      [0, 1],
      [2, 3, 4, 5, 6, 7],
    ]);
    expect(summary(1)).toEqual([[0], [1], [2], [3], [4], [5]]);
  });

  const cases = fc
    .record({
      prompts: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 6 }),
      size: fc.integer({ min: 1, max: 5 }),
    })
    .chain(({ prompts, size }) =>
      fc.record({
        prompts: fc.constant(prompts),
        size: fc.constant(size),
        completions: fc.array(fc.integer({ min: 1, max: 30 }), {
          minLength: prompts.length * size,
          maxLength: prompts.length * size,
        }),
        chosen: fc.subarray([...prompts.keys()]),
        budget: fc.integer({ min: 1, max: 120 }),
      }),
    );

  it('hold every chosen completion once, in order, with its prompt', () => {
    fc.assert(
      fc.property(cases, ({ prompts, size, completions, chosen, budget }) => {
        const groups = groupsOf(prompts, completions);
        const batches = microBatches(groups, chosen, budget);
        expect(batches.flatMap(({ members }) => members)).toEqual(
          chosen.flatMap((p) => Array.from({ length: size }, (_, i) => p * size + i)),
        );
        for (const batch of batches) {
          const scored = batch.groups.flatMap((group) => group.completions.map((ids) => [group.prompt, ids]));
          expect(scored).toEqual(
            batch.members.map((b) => [
              groups.prompts[Math.floor(b / size)]!.ids,
              groups.completions_B[b]!.ids,
            ]),
          );
          expect([batch.count, batch.size]).toEqual([batch.members.length, cost(batch)]);
          expect(new Set(batch.groups.map(({ prompt }) => prompt[0])).size).toBe(batch.groups.length);
        }
      }),
    );
  });

  it('come as near to the budget as whole groups allow, and stay below it where memory is short', () => {
    fc.assert(
      fc.property(cases, fc.constantFrom(1, 2), ({ prompts, size, completions, chosen, budget }, slack) => {
        const batches = microBatches(groupsOf(prompts, completions), chosen, budget, slack);
        for (const [i, batch] of batches.entries()) {
          const last = cost({ ...batch, groups: batch.groups.slice(-1) });
          const isWhole = (batch.members.at(-1)! + 1) % size === 0 && last <= slack * budget;
          const isNear = isWhole && (last === cost(batch) || cost(batch) - last + last / slack <= budget);
          expect(cost(batch) <= budget || batch.members.length === 1 || isNear).toBe(true);
          const next = batches[i + 1]?.members[0];
          if (next === undefined) continue;
          const prompt = Math.floor(next / size);
          const joins = Math.floor(batch.members.at(-1)! / size) === prompt;
          const rest = completions.slice(next, (prompt + 1) * size).reduce((a, b) => a + b, prompts[prompt]!);
          const added = joins ? 0 : prompts[prompt]!;
          // A group that fits into a micro-batch comes whole.
          const least = !joins && rest <= slack * budget ? rest / slack : added + completions[next]!;
          expect(cost(batch) + least).toBeGreaterThan(budget);
        }
      }),
    );
  });

  it('of a masked-diffusion model pay once for the passes that see the same of a whole group', () => {
    const groups = groupsOf([10, 20], [5, 5, 5, 1, 2, 3]);
    const region = Array.from({ length: 6 }, (_, w) => w);
    const hiding = (prompt: number, ...places: number[]): MaskedView => ({
      prompt: new Uint8Array(prompt),
      region: Uint8Array.from(region, (w) => (places.includes(w) ? 1 : 0)),
      weight: 1,
    });
    const masked = (planOf: (prompt: number, b: number) => MaskPlan): Groups => ({
      ...groups,
      masked_B: [0, 1, 2, 3, 4, 5].map((b) => ({ region, plan: planOf(b < 3 ? 10 : 20, b) })),
    });
    const sizes = (planOf: (prompt: number, b: number) => MaskPlan, budget: number) =>
      microBatches(masked(planOf), [0, 1], budget).map(({ size, members }) => [size, members.length]);
    const whole = (prompt: number) => hiding(prompt, ...region);
    // A prompt of 10 and 6 places; a prompt of 20 and 6 places.
    expect(sizes((prompt) => [whole(prompt)], 42)).toEqual([[42, 6]]);
    expect(sizes((prompt) => [whole(prompt)], 1)).toEqual([
      [16, 3],
      [26, 3],
    ]);
    const own = (prompt: number, b: number) => [whole(prompt), hiding(prompt, b)];
    expect(sizes(own, 1000)).toEqual([[16 + 3 * 16 + 26 + 3 * 26, 6]]);
    expect(sizes(own, 20)).toEqual([
      [32, 1],
      [32, 1],
      [32, 1],
      [52, 1],
      [52, 1],
      [52, 1],
    ]);
    const [first] = microBatches(masked(own), [0], 1000)[0]!.groups;
    expect(first!.masked!.map(({ plan }) => plan)).toEqual([0, 1, 2].map((b) => own(10, b)));
  });
});
