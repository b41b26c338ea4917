import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { type Ended, grpo } from '../grpo.test.helper.js';

const SMALL = ['rollout.prompts=2', 'rollout.group=2', 'rollout.maxNewTokens=8', 'eval.limit=4'];
const ARITHMETIC = ['task.name=arithmetic', ...SMALL, 'eval.samples=0'];

const dir = sharedFolder();
beforeAll(() => {
  writeFileSync(
    join(dir, 'one.ts'),
    "import { each } from 'grpo/rewards';\nexport default each((completion) => (completion === '' ? null : 1));\n",
  );
});
const jsonl = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const rows = (file: string) => jsonl(readFileSync(join(dir, 'parts', file), 'utf8'));
const succeeded = (run: Ended) => expect(run, run.err).toMatchObject({ code: 0 });

describe('grpo expert', () => {
  it('imitates what it keeps, and goes on with --resume', async () => {
    const settings = [...ARITHMETIC, 'rewards=[{module: one.ts}]', 'expert.threshold=1', 'sft.batchSize=2'];
    const parts = await grpo(dir, 'expert', ...settings, 'expert.iterations=1', 'output=parts');
    succeeded(parts);
    expect(parts.out).toMatch(/^step 1\/1 {2}reward 1\.000 .* kept 4 /m);
    // Once, though there are two evaluations.
    expect(parts.out.match(/Only 4 problems to evaluate on/g)).toHaveLength(1);
    succeeded(await grpo(dir, 'expert', '--resume', 'parts', 'expert.iterations=2'));
    expect(rows('metrics.jsonl')).toMatchObject([
      { step: 1, kept: 4, kept_problems: 1, updates: 2 },
      { step: 2, kept: 4 },
    ]);
    expect(rows('completions.jsonl')[0]).toMatchObject({ step: 1, kept: true });
  });

  it('goes on when no answer is right', async () => {
    const run = await grpo(dir, 'expert', ...ARITHMETIC, 'expert.iterations=1', 'output=none', '--json');
    succeeded(run);
    expect(run.err).toContain('step 1: nothing kept, so nothing learnt: none of the 4 completions is right');
    const [row] = jsonl(run.out);
    expect(row).toMatchObject({ step: 1, kept: 0 });
    expect(row).not.toHaveProperty('loss');
  });
});
