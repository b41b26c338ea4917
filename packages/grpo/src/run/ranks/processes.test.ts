import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { loadModel } from '../../models/index.js';
import { distance } from '../../step/peers/ranks.test.helper.js';
import { type Death, type Ended, runProcesses } from './processes.test.helper.js';

const SETTINGS = [
  'task.name=arithmetic',
  'rollout.prompts=3',
  'rollout.group=2',
  'rollout.maxNewTokens=4',
  'rollout.invariant=true',
  'train.steps=6',
  'eval.limit=2',
  'optimizer.learningRate=1e-3',
  'checkpoint.every=2',
];

const completionsOf = (output: string) => readFileSync(join(output, 'completions.jsonl'), 'utf8');

function weightsOf(output: string): Map<string, Float32Array> {
  const { decoder } = loadModel(join(output, 'checkpoints', 'step-6'), { dtype: 'float32' });
  const weights = [...decoder.parameters].map(
    ([name, tensor]) => [name, tensor.toTypedArray() as Float32Array] as const,
  );
  decoder.dispose();
  return new Map(weights);
}

async function finished(size: number, output: string, resume = false): Promise<void> {
  const ended = await runProcesses(size, { output, settings: SETTINGS, resume });
  expect(ended).toEqual(Array.from({ length: size }, (): Ended => ({ code: 0, signal: null, stderr: '' })));
}

describe('real processes', { timeout: 180_000 }, () => {
  it('train the run of one', async () => {
    const [alone, ...several] = ['1', '2', '4'].map((name) => join(tempFolder(), name));
    await finished(1, alone!);
    for (const [i, size] of [2, 4].entries()) {
      await finished(size, several[i]!);
      expect(completionsOf(several[i]!)).toBe(completionsOf(alone!));
      expect(distance(weightsOf(several[i]!), weightsOf(alone!))).toBeLessThan(1e-4);
    }
  });

  // All at once: most of the time each waits for what no longer comes.
  it('end when one of them dies, wherever it is, and go on in any number', async () => {
    const deaths: (Death & { goOn: number })[] = [
      { rank: 1, at: 'sample', after: 2, goOn: 1 },
      { rank: 0, at: 'score', after: 4, goOn: 2 },
      { rank: 1, at: 'objective', after: 3, goOn: 3 },
      { rank: 1, at: 'sum', after: 3, goOn: 1 },
      { rank: 0, at: 'checkpoint', after: 1, goOn: 2 },
    ];
    const folder = tempFolder();
    const runs = deaths.map(async ({ goOn, ...death }) => {
      const output = join(folder, death.at);
      const ended = await runProcesses(2, { output, settings: SETTINGS, death });
      expect(ended[death.rank], death.at).toMatchObject({ signal: 'SIGKILL' });
      const other = ended[1 - death.rank]!;
      expect(other.code, death.at).toBe(1);
      expect(other.stderr, death.at).toContain(`rank ${death.rank}`);
      await finished(goOn, output, true);
      expect(completionsOf(output).trimEnd().split('\n').length, death.at).toBe(6 * 6);
    });
    await Promise.all(runs);
  });
});
