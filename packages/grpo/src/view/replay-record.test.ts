import { describe, expect, it } from 'vitest';
import { objectLayer } from '../config/index.js';
import { diffusionRecord } from '../doctor/diffusion-record.test.helper.js';
import { richRecord } from '../doctor/rich-record.test.helper.js';
import type { StepRecord } from '../trace/index.js';
import { trlRecords } from '../trace/trl-records.test.helper.js';
import { compareSteps } from './compare-steps.js';
import { replayRecord } from './replay-record.js';
import { replaySettings } from './replay-settings.js';
import { viewOf } from './step-view.js';
import { tokenViews } from './token-view.js';

const settingsOf = (record: StepRecord, settings: object) =>
  replaySettings(objectLayer('the test', settings), record.declared);

describe('a step replayed with its own settings', () => {
  it.each([false, true])('is that step, with an entropy bonus: %s', (bonus) => {
    const record = richRecord({ step: 2, bonus });
    const { compared, difference } = compareSteps(record, replayRecord(record));
    expect(difference).toBeUndefined();
    const quantities = compared.map(({ quantity }) => quantity);
    expect(quantities).toEqual(
      expect.arrayContaining(['terms of the policy', 'terms of the KL', 'weights of the terms', 'loss']),
    );
  });

  it('is that step of TRL, which records the loss and none of its terms', () => {
    const records = trlRecords('clean');
    expect(records).toHaveLength(3);
    for (const record of records) {
      const { compared, difference } = compareSteps(record, replayRecord(record));
      expect(difference).toBeUndefined();
      expect(compared.map(({ quantity }) => quantity)).toContain('loss');
    }
  });

  it('is not a step whose loss was scaled behind the record', () => {
    const [record] = trlRecords('moved-advantages');
    const { declared } = record!;
    const { settings } = settingsOf(record!, { advantage: { scale: declared!.advantage!.scale, clip: 50 } });
    expect(compareSteps(record!, replayRecord(record!, settings)).difference).toMatchObject({
      quantity: 'advantages',
    });
  });
});

describe('a step replayed with other settings', () => {
  const record = richRecord({ step: 2 });

  it('has the KL of another estimator, as the view estimates it', () => {
    const { kl } = viewOf(record).loss!;
    for (const estimator of ['k1', 'k2', 'k3'] as const) {
      const { settings } = settingsOf(record, { kl: { estimator } });
      const [update] = replayRecord(record, settings).updates!;
      const mask = record.scored?.mask;
      const trained = [...update!.klTerms!].filter((_, t) => mask?.[t] !== 0);
      expect(trained.reduce((a, b) => a + b) / trained.length).toBeCloseTo(kl![estimator], 6);
    }
  });

  it('takes the parts of another loss, and what follows from a bound', () => {
    const { changed } = settingsOf(record, { objective: { loss: 'no_baseline' } });
    expect(changed.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['objective.loss', 'objective.policy', 'advantage.baseline']),
    );
    const declared = { objective: { loss: 'grpo', policy: 'clip', clipLow: 0.2, clipHigh: 0.2 } } as const;
    const paths = (own: StepRecord['declared']) =>
      replaySettings(objectLayer('the test', { objective: { clipLow: 0.1 } }), own).changed.map(
        ({ path }) => path,
      );
    expect(paths(declared)).toEqual(['objective.clipLow', 'objective.clipHigh']);
    expect(paths({ objective: { ...declared.objective, clipHigh: 0.28 } })).toEqual(['objective.clipLow']);
  });

  it('clips more tokens at a narrower bound, in updates after the first', () => {
    const clipped = (own: StepRecord) =>
      own.updates![1]!.ratios!.filter((ratio) => Math.abs(ratio - 1) > own.declared!.objective!.clipLow!)
        .length;
    const { settings } = settingsOf(record, { objective: { clipLow: 0.01, clipHigh: 0.01 } });
    const narrow = replayRecord(record, settings);
    expect(clipped(narrow)).toBeGreaterThan(clipped(record));
    expect(narrow.updates![1]!.loss).not.toBe(record.updates![1]!.loss);
    expect(narrow.updates![0]!.loss).toBeCloseTo(record.updates![0]!.loss!, 5);
  });

  it('weighs tokens and compares rewards otherwise', () => {
    const { settings } = settingsOf(record, {
      objective: { aggregation: 'token_mean' },
      advantage: { scale: 'none' },
    });
    const other = replayRecord(record, settings);
    const [weight] = other.updates![0]!.weights!;
    expect(new Set(other.updates![0]!.weights)).toEqual(new Set([weight]));
    const [first] = viewOf(record).prompts.slice(2);
    const own = viewOf(other).completions.filter(({ prompt }) => prompt === first!.index);
    for (const { total, advantage } of own) expect(advantage).toBeCloseTo(total! - first!.mean!, 9);
  });

  it('leaves cut completions out', () => {
    const cut = record.completions!.finish!.map((finish) => finish === 'length');
    expect(cut).toContain(true);
    const { settings } = settingsOf(record, { objective: { maskTruncated: true } });
    const trained = viewOf(replayRecord(record, settings)).completions.map((one) => one.trained);
    expect(trained.map((count) => count === 0)).toEqual(cut);
  });

  it.each([
    [{ kl: { estimator: 'full' } }, 'the KL over the whole vocabulary'],
    [{ kl: { place: 'reward' } }, 'rewards with another KL'],
    [{ advantage: { flat: 'drop' } }, 'groups that were dropped'],
  ])('needs the model for %j', (settings, lack) => {
    expect(() => replayRecord(record, settingsOf(record, settings).settings)).toThrow(lack);
  });

  it('refuses what the rollout has fixed', () => {
    expect(() => settingsOf(record, { rollout: { temperature: 0.5 } })).toThrow(
      'a replay cannot change rollout.temperature',
    );
  });
});

it('gives each token the slope of the loss, as finite differences have it', () => {
  const record = richRecord({ step: 2 });
  const own = { ...record, scored: { ...record.scored!, oldLogprobs: record.updates![0]!.policyLogprobs! } };
  const view = viewOf(own, []);
  const name = view.completions.find(({ policyLoss, trained }) => policyLoss !== 0 && trained! > 3)!.name;
  const tokens = tokenViews(own, name, view);
  const [update] = own.updates!;
  const lengths = own.scored!.lengths ?? own.completions!.lengths!;
  const { index } = view.completions.find((one) => one.name === name)!;
  const start = lengths.subarray(0, index).reduce((a, b) => a + b, 0);
  const lossAt = (token: number, move: number) => {
    const moved = Float32Array.from(update!.policyLogprobs!);
    moved[start + token]! += move;
    return replayRecord({ ...own, updates: [{ ...update!, policyLogprobs: moved }] }).updates![0]!.loss!;
  };
  for (const { token, policySlope, klSlope } of tokens.slice(0, 4)) {
    const slope = (lossAt(token, 1e-2) - lossAt(token, -1e-2)) / 2e-2;
    expect(policySlope! + klSlope!).toBeCloseTo(slope, 4);
    expect(Math.abs(slope)).toBeGreaterThan(1e-4);
  }
});

it('a masked-diffusion step keeps its masks', () => {
  const record = diffusionRecord('sum_masked');
  expect(() => replayRecord(record, { objective: { maskTruncated: true } })).toThrow(
    'the masks of each iteration',
  );
  expect(replayRecord(record, { kl: { beta: 0.5 } }).updates![1]!.loss).not.toBe(record.updates![1]!.loss);
});
