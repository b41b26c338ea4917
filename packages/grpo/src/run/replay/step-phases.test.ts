/** The phases of a step, held to parity/step_phases.py, which computes them in float64 by transformers. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { Watch } from '../../progress/watch.js';
import { readStepRecord } from '../../trace/index.js';
import { ownOf } from '../../view/replay.js';
import { viewOf } from '../../view/step-view.js';
import { tokenViews } from '../../view/token-view.js';
import { type ModelReplay, type Norms, replayWithModel } from './replay-model.js';

const fixtures = new URL('../../../../../parity/fixtures/', import.meta.url);
const at = (path: string) => fileURLToPath(new URL(path, fixtures));
const expectedOf = JSON.parse(readFileSync(at('step-phases/phases.json'), 'utf8'));

const folders = { ours: 'step-phases/ours', trl: 'trl-run/clean/steps/000002' } as const;

describe.each(['ours', 'trl'] as const)('a step of %s', (whose) => {
  const expected = expectedOf[whose];
  const { recorded, unexplained } = ownOf(readStepRecord(at(folders[whose])));
  const view = viewOf(recorded);
  const { completions, prompts, sample, loss } = view;
  const close = (found: readonly (number | undefined)[], right: readonly number[], digits = 5) => {
    expect(found).toHaveLength(right.length);
    for (const [i, value] of found.entries()) expect(value).toBeCloseTo(right[i]!, digits);
  };
  type Key = 'total' | 'advantage' | 'logprob' | 'referenceLogprob' | 'policyLoss' | 'klLoss';
  const each = (key: Key, right: readonly number[], digits: number) =>
    close(
      completions.map((one) => one[key]),
      right,
      digits,
    );

  it('has the phases 1 to 4', () => {
    expect(prompts.map(({ ids }) => ids!.length)).toEqual(expected.promptIds);
    expect(prompts.map(({ distinct }) => distinct)).toEqual(expected.distinct);
    const { shortest, longest, cut } = expected;
    expect(sample).toMatchObject({ shortest, longest, cut });
    expect(sample.entropy).toBeCloseTo(expected.entropy, 5);
    close(
      view.rewards.map(({ mean }) => mean),
      expected.rewards,
      9,
    );
    each('total', expected.totals, 9);
    // TRL compares rewards in float32.
    each('advantage', expected.advantages, whose === 'trl' ? 5 : 9);
    expect(prompts.map(({ signal }) => signal)).toEqual(expected.signal);
  });

  it('has the phases 5 and 6, completion by completion and token by token', () => {
    expect(unexplained).toBeUndefined();
    each('logprob', expected.logprobs, 4);
    each('referenceLogprob', expected.referenceLogprobs, 4);
    each('policyLoss', expected.policyLosses, 6);
    each('klLoss', expected.klLosses, 6);
    const { k1, k2, k3 } = expected.kl;
    for (const [found, right] of [
      [loss!.loss, expected.loss],
      [loss!.kl!.k1, k1],
      [loss!.kl!.k2, k2],
      [loss!.kl!.k3, k3],
    ])
      expect(found).toBeCloseTo(right, 6);
    for (const { name, index } of completions) {
      const tokens = tokenViews(recorded, name, view);
      close(
        tokens.map(({ klSlope }) => klSlope),
        expected.klSlopes[index],
        6,
      );
      for (const { policySlope } of tokens) expect(policySlope).toBeCloseTo(expected.policySlopes[index], 6);
    }
  });

  it('has the norm of the gradient, and what it was multiplied by', () => {
    const [update] = view.updates;
    expect(update!.gradNorm! / expected.gradient.norm).toBeCloseTo(1, 5);
    expect(update!.clippedBy).toBeCloseTo(expected.clippedBy, 6);
    for (const [name, norm] of Object.entries(expected.gradient.groups ?? {}))
      expect(update!.gradNorms![name]! / (norm as number)).toBeCloseTo(1, 4);
  });
});

describe('the weights of the step of ours', () => {
  let model: ModelReplay;
  beforeAll(async () => {
    const record = readStepRecord(at(folders.ours));
    const settings = ['task.name=arithmetic', `model=${at('models/qwen2')}`, 'output=none'];
    const resolved = resolveConfig({ command: 'train', settings, env: {} });
    const { rollout, objective, kl, advantage } = record.declared! as typeof resolved.config;
    const ours = resolved.config;
    // What is newer than the record keeps its default.
    const config = {
      ...ours,
      rollout: { ...ours.rollout, ...rollout },
      objective: { ...ours.objective, ...objective },
      kl: { ...ours.kl, ...kl },
      advantage: { ...ours.advantage, ...advantage },
    };
    const folder = at('step-phases/ours/weights');
    const found = await replayWithModel(
      record,
      { folder, checkpoint: folder, resolved: { ...resolved, config } },
      0,
      new Watch(),
    );
    if (typeof found === 'string') throw new Error(found);
    model = found;
  });

  it('give the parts of the gradient, layer by layer', () => {
    const { gradientParts } = expectedOf.ours as { gradientParts: Record<'policy' | 'kl', Norms> };
    for (const part of ['policy', 'kl'] as const) {
      expect(model.gradient[part]!.norm / gradientParts[part].norm).toBeCloseTo(1, 4);
      expect(Object.keys(model.gradient[part]!.groups).sort()).toEqual(
        Object.keys(gradientParts[part].groups).sort(),
      );
      for (const [name, norm] of Object.entries(gradientParts[part].groups))
        expect(model.gradient[part]!.groups[name]! / norm).toBeCloseTo(1, 4);
    }
  });

  it('give the KL over the whole vocabulary', () => {
    expect(model.fullKl).toBeCloseTo(expectedOf.ours.kl.full, 6);
  });
});
