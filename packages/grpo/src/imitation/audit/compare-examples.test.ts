import { describe, expect, it } from 'vitest';
import { fixtureModel } from '../../step/step.test.helper.js';
import { DataOrder } from '../../tasks/order/data-order.js';
import type { Problem } from '../../tasks/task.js';
import { type Example, examplesOf } from '../examples.js';
import { compareExamples } from './compare-examples.js';

const problems: Problem[] = Array.from({ length: 5 }, (_, i) => ({
  prompt: [{ role: 'user', content: `the ${i}+${i}?` }],
  row: {},
  demonstration: `It is ${2 * i}.`,
}));
const SIZES = { seed: 4, step: 1, batchSize: 3 };

/** Quantities of the examples of step 2 that do not hold. */
function apart(
  change: (examples: Example[], all: Example[]) => Example[] = (examples) => examples,
  name = 'qwen3',
) {
  const model = fixtureModel(name);
  const all = examplesOf(model, { name: 'stub', train: problems });
  const own = new DataOrder(5, SIZES.seed).at(SIZES.step, SIZES.batchSize).map((i) => all[i]!);
  const measured = compareExamples(model, change(own, all), problems, SIZES);
  if (!('comparisons' in measured)) throw new Error('nothing was compared');
  return measured.comparisons.filter(({ deviation }) => deviation > 0).map(({ quantity }) => quantity);
}

describe('the examples of an SFT step', () => {
  it.each(['qwen3', 'llama3', 'gemma3'])('%s: are those of its rows', (name) => {
    expect(apart((examples) => examples, name)).toEqual([]);
  });

  it('are told when they are of another step', () => {
    const order = new DataOrder(5, SIZES.seed);
    expect(apart((_, all) => order.at(0, 3).map((i) => all[i]!))).toEqual([
      'prompt of an example, as ids',
      'text of a demonstration',
    ]);
  });

  it('are told when one is missing, has no end, or another demonstration', () => {
    expect(apart((examples) => examples.slice(1))[0]).toBe('number of examples');
    const cut = (one: Example) => ({ ...one, completion: one.completion.slice(0, -1) });
    expect(apart((examples) => examples.map(cut))).toEqual([
      'text of a demonstration',
      'end of a demonstration',
    ]);
    expect(
      apart(([first, ...others], all) => [
        { ...first!, completion: all.find((one) => one !== first)!.completion },
        ...others,
      ]),
    ).toEqual(['text of a demonstration']);
  });

  it('are told when a prompt is asked in another form', () => {
    expect(apart((examples) => examples.map((one) => ({ ...one, prompt: one.prompt.slice(1) })))).toEqual([
      'prompt of an example, as ids',
    ]);
  });
});
