import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LOSS_NAMES, namedLosses } from '../../config/loss-names.js';
import { diffusionRecord } from '../../doctor/diffusion-record.test.helper.js';
import { richRecord } from '../../doctor/rich-record.test.helper.js';
import { roundingOf } from '../../doctor/tolerance.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { joinRows } from '../../maths/lists.js';
import { stepRecordOf } from '../../observe/step-record.js';
import { StepRecorder } from '../../observe/step-recorder.js';
import { grpoStep } from '../../step/grpo-step.js';
import { fixtureModel, neighbour, PROBLEMS, spreadRewards, trainerOf } from '../../step/step.test.helper.js';
import { rowArrays } from '../../trace/dimensions.js';
import { readStepRecord, rowsOf, type StepRecord, writeStepRecord } from '../../trace/index.js';
import { trlRun } from '../../trace/trl-records.test.helper.js';
import { setAt, valueAt } from '../../trace/value-at.js';
import { replayRecord } from '../../view/replay-record.js';
import { viewOf } from '../../view/step-view.js';
import { tokenViews } from '../../view/token-view.js';
import type { CompletionAnswer, LossAnswer } from '../requests.js';
import { Studio } from '../studio.js';

/** A studio of a run of these steps. */
function studioOf(...records: StepRecord[]): { studio: Studio; run: string } {
  const run = join(tempFolder(), 'run');
  for (const record of records) {
    const folder = join(run, 'steps', String(record.step).padStart(6, '0'));
    mkdirSync(folder, { recursive: true });
    writeStepRecord(folder, record);
  }
  return { studio: new Studio([run]), run };
}

/** A step that this project took, with the numbers that its engine computed. */
async function takenStep(settings: readonly string[]): Promise<StepRecord> {
  const model = fixtureModel('llama3');
  const trainer = trainerOf(
    model,
    ['rollout.prompts=4', 'optimizer.learningRate=1e-2', ...settings],
    { score: spreadRewards },
    neighbour(model.decoder),
  );
  const recorder = new StepRecorder(trainer, { measureWeights: true });
  await grpoStep({ ...trainer, observers: [recorder] }, PROBLEMS, 0, 1e-2);
  return stepRecordOf(trainer, recorder.recorded, 1);
}

const SETTINGS = [
  'kl.beta=0.2',
  'entropy.coefficient=0.05',
  'objective.iterations=2',
  'objective.minibatches=2',
  'train.microBatchTokens=40',
];

const sumOf = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);

/** @param size - Σ |share| of all tokens: rounding is relative to it */
function expectSum(
  { recorded, total, components, groups }: LossAnswer,
  record: StepRecord,
  size: number,
): void {
  const completions = groups.flatMap((group) => group.completions);
  const bound = roundingOf(record) * size;
  expect(Math.abs(total - recorded!)).toBeLessThan(bound);
  expect(Math.abs(sumOf(components.map(({ value }) => value)) - total)).toBeLessThan(1e-12);
  expect(Math.abs(sumOf(groups.map(({ value }) => value)) - total)).toBeLessThan(bound);
  expect(completions.length).toBeGreaterThan(0);
}

describe('the loss as a sum', () => {
  it.each(LOSS_NAMES)('of %s, with β, an entropy bonus, two passes over two minibatches', async (name) => {
    const hasOld = namedLosses[name].ratio !== 'none';
    const settings = hasOld ? [...SETTINGS, 'objective.oldLogprobs=recompute'] : SETTINGS;
    const record = await takenStep([`objective.loss=${name}`, ...settings]);
    const { studio, run } = studioOf(record);
    expect(record.updates).toHaveLength(4);
    for (const update of record.updates!.keys()) {
      const answer = await studio.answer('loss', { run, step: 1, update });
      expectSum(answer, record, await expectTokens(studio, run, answer));
      const { settings } = answer;
      const same = await studio.answer('loss', { run, step: 1, update, ...settings });
      if (same.hypothetical) expect(same.hypothetical.total).toBeCloseTo(answer.total, 5);
    }
  });

  it.each(['clean', 'base-reference', 'other-template'])('of TRL: %s', async (name) => {
    const folder = trlRun(name);
    const studio = new Studio([folder]);
    const record = readStepRecord(join(folder, 'steps', '000001'));
    for (const update of record.updates!.keys()) {
      const answer = await studio.answer('loss', { run: folder, step: 1, update });
      expect(answer.lacks).toEqual([]);
      expectSum(answer, record, await expectTokens(studio, folder, answer));
    }
  });

  it('of TRL, of a run that scaled its loss behind the record, does not add up', async () => {
    const folder = trlRun('scaled-loss');
    const answer = await new Studio([folder]).answer('loss', { run: folder, step: 1 });
    expect(answer.total / answer.recorded!).not.toBeCloseTo(1, 1);
  });

  it('of a masked-diffusion model, whose passes have masks of their own', async () => {
    const record = diffusionRecord('coupled');
    const { studio, run } = studioOf(record);
    for (const update of [0, 1]) {
      const answer = await studio.answer('loss', { run, step: record.step, update });
      expectSum(answer, record, await expectTokens(studio, run, answer));
    }
  });

  it('with another clip range and β is that of a replay, token by token', async () => {
    const record = await takenStep(['objective.oldLogprobs=recompute', ...SETTINGS]);
    const { studio, run } = studioOf(record);
    const at = { run, step: 1, update: 3, epsilonLow: 0.001, epsilonHigh: 0.001, beta: 1 };
    const { hypothetical, total, groups } = await studio.answer('loss', at);
    expect(hypothetical!.changed).toEqual({ epsilonLow: 0.001, epsilonHigh: 0.001, beta: 1 });
    expect(Math.abs(hypothetical!.total - total)).toBeGreaterThan(1e-4);
    const settings = { objective: { clipLow: 0.001, clipHigh: 0.001 }, kl: { beta: 1 } };
    const [replayed] = replayRecord(record, settings).updates!.slice(3);
    expect(hypothetical!.total).toBeCloseTo(replayed!.loss!, 6);
    const view = viewOf({ ...record, updates: [replayed!] }, []);
    for (const { completions } of hypothetical!.groups)
      for (const { index, policy, kl, entropy } of completions) {
        expect(policy).toBeCloseTo(view.completions[index]!.policyLoss!, 6);
        expect(kl).toBeCloseTo(view.completions[index]!.klLoss!, 6);
        const tokens = (await studio.answer('tokenLosses', { ...at, index })).hypothetical!;
        expect(sumOf(tokens.policy!)).toBeCloseTo(policy, 6);
        expect(sumOf(tokens.kl!)).toBeCloseTo(kl, 6);
        expect(sumOf(tokens.entropy!)).toBeCloseTo(entropy!, 6);
      }
    const own = groups.flatMap(({ completions }) => completions);
    const other = hypothetical!.groups.flatMap(({ completions }) => completions);
    for (const [i, { kl }] of own.entries()) expect(other[i]!.kl).toBeCloseTo(5 * kl, 6);
  });
});

/** The record with every token that many times. */
function repeated(record: StepRecord, times: number): StepRecord {
  const { prompts, completions, scored, updates, ...rest } = structuredClone(record);
  const whole = { ...rest, prompts, completions, scored, updates } as StepRecord;
  for (const { path, per, lengths } of rowArrays(record)) {
    const values = valueAt(record, path) as Float32Array | undefined;
    if (per === 'prompt' || !values) continue;
    const rows = rowsOf(values, lengths!).flatMap((row) => Array<Float32Array>(times).fill(row));
    setAt(whole as unknown as Record<string, unknown>, path, joinRows(values.constructor as never, rows));
  }
  for (const part of [whole.completions!, whole.scored!]) part.lengths = part.lengths!.map((n) => n * times);
  for (const update of whole.updates!) update.weights = update.weights!.map((weight) => weight / times);
  return whole;
}

it('a large step is replayed part by part', async () => {
  const record = richRecord({ step: 2, bonus: true });
  const long = repeated(record, 800);
  expect(long.completions!.ids!.length).toBeGreaterThan(2 ** 18);
  const answers = [record, long].map(async (own) => {
    const { studio, run } = studioOf(own);
    return studio.answer('loss', { run, step: 2, update: 1, epsilonLow: 0.05, beta: 0.3 });
  });
  const [small, large] = await Promise.all(answers);
  expect(large!.total).toBeCloseTo(small!.total, 6);
  expect(large!.hypothetical!.total).toBeCloseTo(small!.hypothetical!.total, 6);
  expect(large!.hypothetical!.groups).toHaveLength(6);
  expect(large!.hypothetical!.total).not.toBeCloseTo(large!.total, 3);
});

/** The shares of the tokens of each completion add up to its share; gives the sum of their sizes. */
async function expectTokens(studio: Studio, run: string, { update, groups }: LossAnswer): Promise<number> {
  let size = 0;
  for (const { index, policy, kl, entropy } of groups.flatMap(({ completions }) => completions)) {
    const at = { run, step: 1, index, update };
    const { columns } = await studio.answer('completion', at);
    const tokens = await studio.answer('tokenLosses', at);
    const parts = [tokens.policy!, tokens.kl ?? [], tokens.entropy ?? []].map((part) => [...part]);
    for (const [i, whole] of [policy, kl, entropy ?? 0].entries())
      expect(sumOf(parts[i]!)).toBeCloseTo(whole, 6);
    expect(sumOf(columns.loss!)).toBeCloseTo(policy + kl + (entropy ?? 0), 6);
    size += sumOf(parts.flat().map(Math.abs));
  }
  return size;
}

describe('a completion as tokens', () => {
  /** The whole record's view of the tokens, by other code. */
  function expectColumns({ columns, name, count }: CompletionAnswer, record: StepRecord): void {
    const tokens = tokenViews(record, name, viewOf(record, []));
    expect(count).toBe(tokens.length);
    for (const [t, token] of tokens.entries()) {
      const { id, trained, sampler, policy, reference, entropy, ratio, weight } = token;
      const recorded = { id, sampler, policy, reference, entropy, ratio, weight };
      const found = {
        id: columns.ids?.[t],
        sampler: columns.sampler?.[t],
        policy: columns.policy?.[t],
        reference: columns.reference?.[t],
        entropy: columns.entropy?.[t],
        ratio: ratio === undefined ? undefined : columns.ratio?.[t],
        weight: weight === undefined ? undefined : columns.weight?.[t],
      };
      expect(found).toEqual(recorded);
      if (trained !== undefined) expect(columns.mask?.[t] !== 0).toBe(trained);
      if (token.policySlope !== undefined)
        expect(Math.abs(columns.policySlope![t]! - token.policySlope)).toBeLessThan(1e-9);
      if (token.klSlope !== undefined)
        expect(Math.abs(columns.klSlope![t]! - token.klSlope)).toBeLessThan(1e-9);
    }
  }

  it.each<[string, () => StepRecord | Promise<StepRecord>]>([
    ['of a right step', () => richRecord({ step: 2 })],
    ['of a masked-diffusion model', () => diffusionRecord('sum_masked', { step: 2 })],
    ['of TRL', () => ({ ...readStepRecord(join(trlRun('clean'), 'steps', '000002')) })],
    ['of a step that was taken', () => takenStep(['kl.beta=0.2', 'objective.loss=grpo'])],
    ['of tokens of high entropy alone', () => takenStep(['entropy.topShare=0.4', 'kl.beta=0.2'])],
  ])('is as the whole record has it: %s', async (_, make) => {
    const record = await make();
    const { studio, run } = studioOf(record);
    for (const index of [0, 5, record.completions!.prompt!.length - 1]) {
      const answer = await studio.answer('completion', { run, step: record.step, index });
      expectColumns(answer, record);
      expect(answer.group.map((one) => one.index)).toContain(index);
    }
  });

  it('has the pieces of its tokens, and the gap where it can be compared', async () => {
    const record = await takenStep(['objective.oldLogprobs=recompute']);
    const { studio, run } = studioOf(record);
    const { pieces, columns, promptIds, promptText } = await studio.answer('completion', {
      run,
      step: 1,
      index: 0,
    });
    const text = [...promptIds!].map((id) => pieces.get(id)!.text).join('');
    expect(text).toBe(promptText);
    expect([...columns.ids!].every((id) => pieces.has(id))).toBe(true);
    expect(Math.max(...columns.gap!.map(Math.abs))).toBeLessThan(1e-3);
    const replayed = { ...record, prompts: { ...record.prompts!, replayed: Int32Array.of(0, 1, 0, 1) } };
    const other = studioOf(replayed);
    const gapOf = async (index: number) =>
      (await other.studio.answer('completion', { run: other.run, step: 1, index })).columns.gap;
    expect(await gapOf(0)).toBeDefined();
    expect(await gapOf(record.completions!.prompt!.indexOf(1))).toBeUndefined();
  });

  it('of a step that has none is refused in words', async () => {
    const { studio, run } = studioOf(richRecord());
    await expect(studio.answer('completion', { run, step: 1, index: 99 })).rejects.toThrow(
      'step 1 has no completion 99',
    );
    await expect(studio.answer('step', { run, step: 7 })).rejects.toThrow('no record of step 7');
    await expect(studio.answer('loss', { run, step: 1, update: 2 })).rejects.toThrow('no update 2');
  });
});

describe('all tokens of a step', () => {
  it('with the worst first', async () => {
    const record = richRecord({ step: 2 });
    const { studio, run } = studioOf(record);
    const at = { run, step: 2 } as const;
    const entropies = [...record.updates![0]!.entropies!, ...record.updates![1]!.entropies!].sort(
      (a, b) => b - a,
    );
    const worst = await studio.answer('worstTokens', { ...at, measure: 'entropy', count: 9 });
    expect(worst.map(({ value }) => value)).toEqual(entropies.slice(0, 9));
    for (const measure of ['ratio', 'logprob', 'kl', 'loss', 'slope', 'gap'] as const) {
      const [first] = await studio.answer('worstTokens', { ...at, measure, count: 1 });
      const { completion: index, token, update, value } = first!;
      const { columns } = await studio.answer('completion', { ...at, index, ...(update && { update }) });
      const own = {
        ratio: columns.ratio,
        logprob: columns.policy,
        kl: columns.klTerm,
        loss: columns.loss,
        slope: columns.policySlope!.map((slope, t) => slope + columns.klSlope![t]!),
        gap: columns.gap,
      }[measure]!;
      expect(value).toBeCloseTo(own[token]!, 10);
      const size = (x: number) => Math.abs(measure === 'ratio' ? Math.log(x) : x);
      for (const other of own) expect(size(other)).toBeLessThanOrEqual(size(value) + 1e-12);
    }
    record.updates![1]!.policyLogprobs![7] = Number.NaN;
    const broken = studioOf(record);
    const [nan] = await broken.studio.answer('worstTokens', {
      run: broken.run,
      step: 2,
      measure: 'logprob',
      count: 3,
    });
    expect(nan).toMatchObject({ value: Number.NaN, update: 1, completion: 2, token: 1 });
  });

  it('by position, over the completions that reach it', async () => {
    const record = richRecord({ step: 2 });
    record.updates!.pop();
    const { studio, run } = studioOf(record);
    const answer = await studio.answer('positions', { run, step: 2, measure: 'logprob' });
    const lengths = [...record.scored!.lengths!];
    const starts = lengths.map((_, b) => sumOf(lengths.slice(0, b)));
    const at = (t: number) =>
      lengths.flatMap((length, b) =>
        t < length ? [record.updates![0]!.policyLogprobs![starts[b]! + t]!] : [],
      );
    expect(answer.mean).toHaveLength(Math.max(...lengths));
    for (const t of [0, 2, 3, Math.max(...lengths) - 1]) {
      const own = at(t);
      expect(answer.count[t]).toBe(own.length);
      expect(answer.mean[t]).toBeCloseTo(sumOf(own) / own.length, 10);
      expect(answer.largest[t]).toBe(Math.max(...own.map(Math.abs)));
    }
  });

  it('that a record does not have are named', async () => {
    const { updates: _, ...record } = richRecord();
    const { studio, run } = studioOf(record);
    await expect(studio.answer('positions', { run, step: 1, measure: 'ratio' })).rejects.toThrow(
      'does not tell the ratio',
    );
  });
});

describe('a step', () => {
  it('has its groups, rewards and what completions share, and later the verdict', async () => {
    const record = richRecord({ step: 2 });
    record.completions!.texts![0] = 'same 👍 one';
    record.completions!.texts![1] = 'same 👌 two';
    record.completions!.texts![2] = 'same 👍 three';
    record.completions!.texts![3] = 'same 👍';
    record.rewards!.rules = [record.completions!.texts!.map((_, b) => (b % 2 ? 'exact' : null))];
    const { studio, run } = studioOf(record);
    const answer = await studio.answer('step', { run, step: 2 });
    // The first half of both emoji is the same.
    expect(answer.shared[0]).toBe('same '.length);
    expect(answer.rules[0]).toMatchObject({ reward: 'right' });
    expect(answer.view.completions).toHaveLength(24);
    expect(answer.view).not.toHaveProperty('verdicts');
    const { view, links } = await studio.answer('stepWhole', { run, step: 2 });
    expect(view.verdicts.length).toBeGreaterThan(5);
    expect(links).toEqual([]);
    const broken = studioOf({ ...record, advantages: record.advantages!.map((a) => a + 0.1) });
    const sick = await broken.studio.answer('stepWhole', { run: broken.run, step: 2 });
    const places = sick.links.flatMap((link) => link.places.map(({ text }) => text));
    expect(places).toContainEqual(expect.stringMatching(/^completion \d+\.\d+/));
    expect(places.filter((text) => text.includes('step'))).toEqual([]);
  });

  it('is compared with another, prompt by prompt', async () => {
    const record = richRecord({ step: 2 });
    const texts = [...record.prompts!.texts!];
    const moved = { ...record, step: 3, prompts: { ...record.prompts!, texts: texts.reverse() } };
    const { studio, run } = studioOf(record, moved);
    const { comparison, prompts } = await studio.answer('compare', {
      run,
      step: 2,
      otherRun: run,
      otherStep: 3,
    });
    expect(comparison.difference?.quantity).toBe('texts of the prompts');
    expect(prompts.map(({ here, there }) => here + there)).toEqual(Array(6).fill(5));
  });
});
