import { describe, expect, it } from 'vitest';
import { diffusionRecord } from '../doctor/diffusion-record.test.helper.js';
import { registry } from '../doctor/registry.js';
import { richRecord } from '../doctor/rich-record.test.helper.js';
import { sum } from '../maths/moments.js';
import type { StepRecord } from '../trace/index.js';
import { trlRecords } from '../trace/trl-records.test.helper.js';
import { PHASES } from './phases.js';
import { viewOf } from './step-view.js';
import { tokenViews } from './token-view.js';

describe('the view of a record of ours', () => {
  const record = richRecord({ step: 2 });
  const view = viewOf(record, registry);
  const [update] = record.updates!;

  it('splits the loss of the first update among its completions', () => {
    const parts = view.completions.map(({ policyLoss = 0, klLoss = 0 }) => policyLoss + klLoss);
    expect(sum(parts)).toBeCloseTo(update!.loss!, 5);
    const largest = view.loss!.largest.find(({ part }) => part === 'policy')!;
    const sizes = view.completions.map(({ policyLoss }) => Math.abs(policyLoss!));
    expect(view.completions.find(({ name }) => name === largest.name)!.index).toBe(
      sizes.indexOf(Math.max(...sizes)),
    );
    expect(largest.share).toBeCloseTo(Math.max(...sizes) / sum(sizes), 9);
  });

  it('estimates the KL as its terms in the loss do', () => {
    const mask = record.scored?.mask;
    const terms = update!.klTerms!.filter((_, t) => mask?.[t] !== 0);
    expect(view.loss!.kl!.k3).toBeCloseTo(sum(terms) / terms.length, 5);
    // All three estimate one number: near each other where the policies are near.
    expect(view.loss!.kl!.k2 / view.loss!.kl!.k3).toBeCloseTo(1, 0);
  });

  it('tells which groups have a signal, and what their advantages sum to', () => {
    expect(view.prompts.map(({ signal }) => signal)).toEqual([false, false, true, true, true, true]);
    for (const { advantages } of view.prompts) expect(advantages).toBeCloseTo(0, 9);
  });

  it('has each token of a completion', () => {
    const [first] = view.completions;
    const tokens = tokenViews(record, first!.name, view);
    expect(tokens).toHaveLength(first!.tokens!);
    expect(sum(tokens.filter(({ trained }) => trained !== false).map(({ policy }) => policy!))).toBeCloseTo(
      first!.logprob!,
      5,
    );
    const weighted = tokens.map(({ policyTerm, weight }) => policyTerm! * weight!);
    expect(sum(weighted)).toBeCloseTo(first!.policyLoss!, 9);
  });

  it('tells plain text from a template that was not recorded', () => {
    const endings = ['', undefined].map((assistantHeader) => {
      const prompts = { texts: ['2 + 2 ='], ...(assistantHeader !== undefined && { assistantHeader }) };
      return viewOf({ ...record, prompts }, []).prompts[0]!.ending;
    });
    expect(endings).toEqual(['plain', undefined]);
  });

  it('has no deviation of equal rewards', () => {
    const { rewards, completions } = record;
    // The mean of 0.1, 0.1 and 0.1 is not 0.1.
    const totals = rewards!.totals!.map((total, b) => (completions!.prompt![b] === 0 ? 0.1 : total));
    totals[0] = Number.NaN;
    const { prompts } = viewOf({ ...record, rewards: { ...rewards, totals } }, registry);
    expect(prompts[0]!.deviation).toBe(0);
    expect(prompts.at(-1)!.deviation).toBeGreaterThan(0.01);
  });

  it('leaves out what was not recorded', () => {
    const { format, version, step, producer } = record;
    const bare = viewOf({ format, version, step, producer }, registry);
    expect(bare).toMatchObject({ prompts: [], completions: [], sample: {}, rewards: [], updates: [] });
    expect(bare.loss).toBeUndefined();
  });
});

describe('the view of a record of TRL', () => {
  it.each(trlRecords('clean').map((record) => [record.step, record] as const))(
    'has the numbers of step %d',
    (_, record) => {
      const view = viewOf(record, registry);
      expect(view.completions.map(({ name }) => name).slice(0, 5)).toEqual([
        '0.0',
        '0.1',
        '0.2',
        '0.3',
        '1.0',
      ]);
      expect(new Set(view.prompts.map(({ ending }) => ending))).toEqual(new Set(['header']));
      for (const { index, mean: centre, deviation } of view.prompts) {
        const group = view.completions.filter(({ prompt }) => prompt === index);
        for (const { total, advantage } of group)
          expect(advantage).toBeCloseTo((total! - centre!) / (deviation! + 1e-4), 4);
      }
      expect(view.verdicts.at(-1)!.findings).toEqual([]);
    },
  );

  it('counts each check that was not made once, by the part of the record that it needs', () => {
    const [record] = trlRecords('clean');
    const lacksIn = (step: StepRecord) => {
      const { lacks, judged, checks } = viewOf(step, registry).verdicts.at(-1)!;
      expect(sum(lacks.map((lack) => lack.checks))).toBe(checks - judged);
      return new Map(lacks.map((lack) => [lack.of, lack]));
    };
    const lacks = lacksIn(record!);
    expect(lacks.get('log')!.checks).toBe(registry.filter(({ scope }) => scope === 'log').length);
    expect(lacks.get('scored')).toEqual({ of: 'scored', checks: 2, reasons: ['scored.oldLogprobs'] });
    expect([...lacks.keys()].at(-1)).toBe('case');
    expect(lacks.get('case')!.reasons).toContain('a group of equal rewards');
    const { probes: _, ...unprobed } = record!;
    expect(lacksIn(unprobed).get('probes')!.reasons[0]).toBe('probes');
  });

  it('has what was sampled where the rewards got another text', () => {
    const { completions } = viewOf(trlRecords('cut-by-count')[0]!, registry);
    const other = completions.filter(({ sampledText }) => sampledText !== undefined);
    expect(other).toHaveLength(12);
    for (const { text, sampledText } of other) expect(text!.endsWith(`assistant\n${sampledText}`)).toBe(true);
  });

  it.each([
    ['no-generation-prompt', 'prompt'],
    ['constant-reward', 'reward'],
    ['moved-advantages', 'advantage'],
    ['dropout', 'log-prob'],
    ['scaled-loss', 'loss'],
    ['detached', 'gradient'],
  ] as const)('with the fault %s has its first finding in the phase %s', (run, phase) => {
    const { verdicts } = viewOf(trlRecords(run)[0]!, registry);
    expect(verdicts.map((one) => one.phase)).toEqual(PHASES);
    const serious = verdicts.filter(({ findings }) => findings.some(({ severity }) => severity !== 'inform'));
    expect(serious[0]!.phase).toBe(phase);
  });
});

it('tells of each update how many of its tokens are beyond the clip range', () => {
  const record = richRecord({ step: 2 });
  const [first, second] = viewOf(record, []).updates;
  expect(first!.beyondClip).toBe(0);
  const ratios = record.updates![1]!.ratios!;
  const beyond = ratios.filter((ratio) => ratio < 0.8 || ratio > 1.2).length;
  expect(beyond).toBeGreaterThan(10);
  expect(second).toMatchObject({ beyondClip: beyond / ratios.length, loss: record.updates![1]!.loss });
});

describe('the view of a masked-diffusion step', () => {
  it('tells how completions were filled, and how much of them each pass hides', () => {
    const { masked, sample } = viewOf(diffusionRecord('coupled'), registry);
    expect(masked).toMatchObject({
      blockLength: 16,
      steps: 32,
      estimator: 'coupled',
      passes: 3,
      hiddenPrompt: 0,
    });
    // All of the region, and its two halves.
    expect(masked!.hiddenRegion).toBeCloseTo(2 / 3, 9);
    expect(viewOf(diffusionRecord('d1'), registry).masked!.hiddenRegion).toBe(1);
    // The sampler's log-probs are of other inputs.
    expect(sample).not.toHaveProperty('gap');
  });

  it('a causal one has none of it', () => {
    expect(viewOf(richRecord(), registry)).not.toHaveProperty('masked');
  });
});
