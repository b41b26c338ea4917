import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { writeRandomWeights } from '../../models/index.js';
import { writeArithmeticModelFiles } from '../../tasks/arithmetic/arithmetic-model.js';
import { grpo } from '../grpo.test.helper.js';

const SHARED = ['model=one', 'rollout.maxNewTokens=8', 'eval.limit=3', 'eval.samples=2'];

const dir = sharedFolder();
beforeAll(async () => {
  for (const [seed, name] of ['one', 'other'].entries()) {
    const model = join(dir, name);
    await writeArithmeticModelFiles(model, { hiddenSize: 16, heads: 2, layers: 1, intermediateSize: 32 });
    writeRandomWeights(model, seed);
  }
  const rows = (questions: string[]) =>
    questions.map((question) => `${JSON.stringify({ question })}\n`).join('');
  writeFileSync(join(dir, 'train.jsonl'), rows(['who']));
  writeFileSync(join(dir, 'held.jsonl'), rows(['what', 'when', 'where']));
  writeFileSync(
    join(dir, 'variety.ts'),
    "import { each } from 'grpo/rewards';\nexport default each((completion) => new Set(completion).size);\n",
  );
});
describe('grpo eval', () => {
  it('shows tables, warns of too few problems, and keeps the same completions each time', async () => {
    const argv = ['eval', ...SHARED, 'task.name=arithmetic'];
    const first = await grpo(dir, ...argv, '--completions', 'first.jsonl');
    expect(first, first.err).toMatchObject({ code: 0 });
    expect(first.err).toContain('Only 3 problems to evaluate on');
    expect(first.out).toMatch(/^accuracy +0\.0% \(0\.0–56\.1%\) +0\.0% \(0\.0–56\.1%\)$/m);
    expect(first.out).toMatch(/^pass@2 +0\.0% \(0\.0–56\.1%\)$/m);
    expect(first.out).toMatch(/^A second computation agrees in all \d+ numbers and texts\.$/m);
    expect(first.out).toMatch(/^cut at 8 tokens +\d/m);
    expect(first.out).toMatch(/^Rules that judged the wrong answers:\n {2}answer: no <think> \(9\)$/m);

    const second = await grpo(dir, ...argv, '--completions', 'second.jsonl', '--against', 'other');
    expect(second, second.err).toMatchObject({ code: 0 });
    expect(second.out).toContain('\n\nAgainst other, which has:\n\n3 held-out problems');
    expect(second.out).toMatch(/^ {2}greedy: accuracy \+0\.0 points; better at 0 problems, worse at 0$/m);

    const [text, again] = ['first.jsonl', 'second.jsonl'].map((file) =>
      readFileSync(join(dir, file), 'utf8'),
    );
    expect(again).toBe(text);
    const rows = text!
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows.map(({ decoding, prompt, index }) => `${decoding} ${prompt} ${index}`)).toEqual([
      ...[0, 1, 2].map((prompt) => `greedy ${prompt} 0`),
      ...[0, 1, 2].flatMap((prompt) => [0, 1].map((index) => `sampled ${prompt} ${index}`)),
    ]);
    expect(rows[0]).toMatchObject({ correct: false, reward: 0, rewards: { answer: 0 }, length: 8 });
    expect(rows[0]!.reward_rules).toEqual({ answer: 'no <think>', format: 'no <think>' });
  });

  it('compares two models by their rewards where the task cannot tell, and claims no accuracy', async () => {
    const task = ['task.data=train.jsonl', 'task.evalData=held.jsonl', 'task.grading=none'];
    // Hot, or models of random weights only repeat themselves.
    const own = ['rewards=[{module: variety.ts}]', 'eval.temperature=5'];
    const run = await grpo(dir, 'eval', ...SHARED, ...task, ...own, '--against', 'other', '--json');
    expect(run, run.err).toMatchObject({ code: 0 });
    const { greedy, sampled, against, ...rest } = JSON.parse(run.out);
    expect(rest).not.toHaveProperty('passAtK');
    expect([rest.audit, against.audit]).toMatchObject(Array(2).fill({ findings: [], missing: [] }));
    expect(greedy).toMatchObject({ accuracy: null, low: null, high: null, right: null, wrong: null });
    const { difference } = against;
    expect(difference.sampled.of).toBe('reward');
    expect(difference.sampled.mean).not.toBe(0);
    expect(difference.sampled.mean).toBeCloseTo(sampled.reward - against.sampled.reward, 12);
  });
});
