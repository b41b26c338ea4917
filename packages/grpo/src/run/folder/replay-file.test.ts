import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { TokenSets } from '../../formats/token-sets.js';
import { Batch, type StoredGroup } from '../../step/batch.js';
import { ReplayStore } from '../../step/replay-store.js';
import { readStore, storeLines } from './replay-file.js';

const problems = [0, 1, 2].map((i) => ({ prompt: String(i), row: { i } }));

/** A group of two completions, the first of which could not be scored by its second reward. */
function storedOf(step: number, score: number, old?: readonly Float32Array[]): StoredGroup {
  const rewardTable = {
    names: ['right', 'short'],
    weights: [1, 0.5],
    columns: [Float64Array.of(1, 0), Float64Array.of(Number.NaN, 0.1)],
    grounds: [
      [{ rule: 'equal', parts: { answer: 1, format: -0.5 } }, { rule: 'different' }],
      [null, null],
    ],
    unscored: Uint8Array.of(0, 0),
    failures: [],
  };
  return {
    group: new Batch({
      problems: [problems[step % 3]!],
      prompts: [{ text: 'p', ids: [1, 2], spans: [{ kind: 'prompt', start: 0, end: 2 }] }],
      completions_B: [0.1, 1e-30].map((value) => ({
        ids: [3, 4],
        text: 'é\u2028\n',
        finishReason: 'length',
        logprobs: Float32Array.of(-value, -1 / 3),
        sampledLogprobs: Float32Array.of(0, -value),
      })),
      rewardTable,
    }),
    old,
    step,
    score,
  };
}

const stepsOf = (groups: readonly StoredGroup[]) => groups.map(({ step }) => step);

describe('the store', () => {
  it('gives way by score: the least goes, of equal ones the oldest', () => {
    const given = [3, 1, 2, 1, 5, 1, 3].map((score, step) => storedOf(step, score));
    expect(stepsOf(new ReplayStore(4, given).groups)).toEqual([0, 2, 4, 6]);
    expect(
      stepsOf(
        new ReplayStore(
          2,
          [0, 1, 2, 3].map((step) => storedOf(step, 1)),
        ).groups,
      ),
    ).toEqual([2, 3]);
  });

  it('draws different groups, each as often as its score says, and keeps them', () => {
    const store = new ReplayStore(
      3,
      [1, 2, 5].map((score, step) => storedOf(step, score)),
    );
    const counts = [0, 0, 0];
    const steps = 4000;
    for (let step = 0; step < steps; step++) counts[store.draw(1, 11, step)[0]!.step]!++;
    // Binomial: four standard deviations are 0.03.
    for (const [i, share] of [1 / 8, 2 / 8, 5 / 8].entries())
      expect(Math.abs(counts[i]! / steps - share)).toBeLessThan(0.03);
    for (let step = 0; step < 50; step++) {
      expect(stepsOf(store.draw(5, 11, step)).sort()).toEqual([0, 1, 2]);
      expect(store.draw(2, 11, step)).toEqual(store.draw(2, 11, step));
    }
    expect(store.groups).toHaveLength(3);
    expect(new ReplayStore(3).draw(2, 11, 0)).toEqual([]);
  });
});

describe('the file of the store', () => {
  const write = (text: string) => {
    const path = join(tempFolder(), 'replay.jsonl');
    writeFileSync(path, text);
    return path;
  };

  it('gives back what was stored, to the last bit', async () => {
    const old = [Float32Array.of(-0.2, -3), Float32Array.of(-1e-7, Number.NaN)];
    const stored = [storedOf(4, 0.1 + 0.2), storedOf(5, 2, old)];
    stored[1]!.group.completions_B[0]!.support = TokenSets.of([[3], [2, 4, 99_999]]);
    expect(await readStore(write(storeLines(stored, problems)), problems)).toEqual(stored);
    expect(await readStore(join(tempFolder(), 'none.jsonl'), problems)).toEqual([]);
  });

  it('names the line that it cannot use', async () => {
    const lines = storeLines([storedOf(0, 1), storedOf(2, 1)], problems);
    await expect(readStore(write(lines), problems.slice(0, 2))).rejects.toThrow(
      /replay\.jsonl:2: a stored group belongs to problem 2, but there are 2 problems/,
    );
    const sets = '"support":{"lengths":[2,2],"data":"AgcG"},"finishReason"';
    await expect(readStore(write(lines.replace('"finishReason"', sets)), problems)).rejects.toThrow(
      /replay\.jsonl:1: not a stored group: .*\n?.*recorded sets of tokens are damaged/,
    );
    await expect(readStore(write(lines.replace('"score":1,', '')), problems)).rejects.toThrow(
      /replay\.jsonl:1: not a stored group: .*\n.*score/,
    );
  });

  it('cannot hold a group of a problem that the task does not have', () => {
    expect(() => storeLines([storedOf(2, 1)], problems.slice(0, 2))).toThrow(
      /a problem that the task does not train on/,
    );
  });
});
