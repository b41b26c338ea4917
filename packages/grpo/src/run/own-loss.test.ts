import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noGrad, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { composedLoss } from '../objective/index.js';
import { recordStep } from '../observe/record-step.js';
import { stepRecordOf } from '../observe/step-record.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from '../step/step.test.helper.js';
import { loadLoss } from './own-loss.js';
import { run } from './run.test.helper.js';

/** Writes a loss module and returns its path. */
function moduleOf(source: string): string {
  const path = join(tempFolder(), 'loss.ts');
  writeFileSync(path, source);
  return path;
}

/** REINFORCE over summed log-probs, as in the hint of every error. */
const REINFORCE = `import { type Loss, TokenRows } from 'grpo';
export default (({ logprobs_T, advantages, lengths, mask, update }) => {
  const rows = new TokenRows(lengths, mask, logprobs_T);
  const sums_B = rows.sum(logprobs_T).mul(rows.tensor(advantages));
  return { loss: sums_B.sum().div(-update.completions) };
}) satisfies Loss;`;

async function stepWith(source: string | undefined, settings: readonly string[] = []) {
  const objective = source === undefined ? composedLoss : await loadLoss(moduleOf(source));
  const trainer = trainerOf(fixtureModel('llama3'), settings, { objective, score: spreadRewards });
  const result = await recordStep(trainer, PROBLEMS, 0, 0.01);
  return { trainer, result };
}

describe('a loss of its own', () => {
  it('trains as the built-in one that it is equal to, in micro-batches', async () => {
    const settings = ['objective.loss=reinforce_sum', 'train.microBatchTokens=60'];
    const own = await stepWith(REINFORCE, settings);
    const built = await stepWith(undefined, settings);
    expect(own.result.updates[0]!.microBatches!.executed).toBeGreaterThan(1);
    expect(own.result.loss).toBeCloseTo(built.result.loss, 5);
    expect(own.result.gradNorm / built.result.gradNorm).toBeCloseTo(1, 5);
    const furthest = tidy(() =>
      noGrad(() =>
        Math.max(
          ...[...own.trainer.model.decoder.parameters].map(([name, weights]) =>
            weights.sub(built.trainer.model.decoder.parameters.get(name)!).abs().amax([]).item(),
          ),
        ),
      ),
    );
    expect(furthest).toBeLessThan(1e-3);
  });

  it('leaves a record without terms, whose mask is that of the rollout', async () => {
    const { trainer, result } = await stepWith(REINFORCE);
    const record = stepRecordOf(trainer, result, 1);
    expect(record.updates![0]!.weights).toBeUndefined();
    expect([...new Set(record.scored!.mask)]).toEqual([1]);
  });

  it('may use the built-in one, and its terms and metrics are kept', async () => {
    const source = `import { composedLoss, type Loss } from 'grpo';
      export default ((input) => {
        const output = composedLoss({ ...input, settings: { ...input.settings, clipHigh: 9 } });
        return { ...output, metrics: { means: { mine: { sum: 3, of: 2 } } } };
      }) satisfies Loss;`;
    const { result } = await stepWith(source);
    expect(result.metrics.mine).toBe(1.5);
    expect(result.updates[0]!.weights).toHaveLength(result.updates[0]!.policyLogprobs!.length);
  });
});

describe('a module that is no loss', () => {
  const refusal = async (work: Promise<unknown>): Promise<UserError> => {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(UserError);
    return error as UserError;
  };

  it.each([
    ['export const loss = () => 1;', /has no function as its default export; it exports loss \(function\)/],
    ['export default { loss: 1 };', /no function as its default export; it exports default \(object\)/],
    ['export default () => {\n  return [1;\n};', /cannot be loaded: Unexpected token.*loss\.ts:2:11\)$/],
  ])('is refused before the run: %j', async (source, message) => {
    const path = moduleOf(source);
    const { message: said } = await refusal(loadLoss(path));
    expect(said).toMatch(message);
    expect(said).toContain(path);
  });

  it('is named when it is not there', async () => {
    const path = join(tempFolder(), 'none.ts');
    expect((await refusal(loadLoss(path))).message).toBe(
      `loss module: cannot read ${path}: there is no such file (ENOENT)`,
    );
  });

  it.each([
    ['() => undefined', "returned no tensor 'loss'"],
    ['() => ({ loss: 1 })', "returned no tensor 'loss'"],
    ['async ({ logprobs_T }) => ({ loss: logprobs_T.sum() })', 'returned a promise'],
    ['({ logprobs_T }) => ({ loss: logprobs_T })', /returned a loss of shape \[\d+\]; sum it to one number/],
    ['({ logprobs_T }) => ({ loss: logprobs_T.detach().sum() })', 'returned a loss without a gradient'],
    [
      '({ logprobs_T: l }) => ({ loss: l.sum(), terms: { weights_T: l.sum() } })',
      /returned terms\.weights_T of shape \[\]; it needs a value for each of the \d+ tokens/,
    ],
    [
      '({ logprobs_T: l }) => ({ loss: l.sum(), metrics: { means: { kl: 1 } } })',
      /returned what cannot be recorded\n[\s\S]*means\.kl/,
    ],
    [
      '({ logprobs_T: l }) => ({ loss: l.sum(), metrics: { means: { mine: { sum: 1, of: 1 }, step: { sum: 5, of: 1 } } } })',
      "returned a metric 'step', which the run itself computes: take another name",
    ],
    ['() => {\n  throw new RangeError("not today");\n}', /threw RangeError: not today \(.*loss\.ts:2:\d+\)$/],
  ])('ends the run at its first call: %s', async (source, message) => {
    const error = await refusal(stepWith(`export default ${source};`));
    expect(error.message).toMatch(message);
    expect(error.hint).toContain('export default ((');
  });
});

describe('objective.module', () => {
  it('is the loss of the run, and its file is in the record', async () => {
    const output = join(tempFolder(), 'run');
    const module = moduleOf(REINFORCE);
    const settings = [`objective.module=${module}`, 'train.steps=2', 'eval.before=false'];
    const { rows } = await run({ output, settings });
    // What the run computes by itself, its loss may not report.
    for (const name of Object.keys(rows[0]!)) {
      const source = `export default ({ logprobs_T: l }) => ({ loss: l.sum(), metrics: { means: { '${name}': { sum: 1, of: 1 } } } });`;
      await expect(stepWith(source)).rejects.toThrow(`returned a metric '${name}'`);
    }
    // The built-in loss would tell of its clipping.
    expect(rows.map((row) => row['clip_ratio/low_mean'])).toEqual([undefined, undefined]);
    const record = JSON.parse(readFileSync(join(output, 'config.json'), 'utf8')) as {
      files: Record<string, string>;
    };
    expect(Object.keys(record.files)).toContain(module);
  });

  it('leaves no run behind when it is no loss', async () => {
    const output = join(tempFolder(), 'run');
    const settings = [`objective.module=${moduleOf('export const x = 1;')}`];
    await expect(run({ output, settings })).rejects.toThrow(/no function as its default export/);
    expect(() => readFileSync(join(output, 'config.json'))).toThrow(/ENOENT/);
  });
});
