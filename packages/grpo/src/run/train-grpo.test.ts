import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

describe('a GRPO run', () => {
  it.each(['detach', 'recompute', 'sampler'])('earns more reward, old log-probs: %s', async (kind) => {
    const settings = [
      `model=${await tinyModelFolder()}`,
      `objective.oldLogprobs=${kind}`,
      `objective.iterations=${kind === 'detach' ? 1 : 2}`,
      'optimizer.learningRate=0.02',
      'rollout.prompts=8',
      'rollout.group=8',
      'train.steps=15',
      'eval.before=false',
    ];
    const { rows } = await run({ output: join(tempFolder(), 'run'), settings });
    // Of random tokens half are good.
    expect(rows[0]!.reward).toBeGreaterThan(0.4);
    expect(rows[0]!.reward).toBeLessThan(0.6);
    expect(rows[14]!.reward).toBeGreaterThan(0.85);
  });

  it('counts tokens as TRL does: a prompt once for each of its completions', async () => {
    const settings = [`model=${await tinyModelFolder()}`, 'rollout.group=3', 'train.steps=2'];
    const { rows } = await run({ output: join(tempFolder(), 'run'), settings });
    // A token a byte: prompts are such as `27+45=`.
    const expected = rows.map((row) => 2 * 3 * (6 + row['completions/mean_length']!));
    expect(rows.map((row) => row.step_tokens)).toEqual(expected.map((x) => expect.closeTo(x, 9)));
    expect(rows[1]!.num_tokens).toBe(rows[0]!.step_tokens! + rows[1]!.step_tokens!);
  });
});
