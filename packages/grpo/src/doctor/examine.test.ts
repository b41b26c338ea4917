import { describe, expect, it } from 'vitest';
import { type StageProgress, Watch } from '../progress/watch.js';
import type { StepRecord } from '../trace/index.js';
import { RECORD_VERSION } from '../trace/record.js';
import type { StepCheck } from './check.js';
import { examine, type Material } from './examine.js';
import { fail } from './outcome.js';
import { change, cutScored, seriesOf, startOf, times } from './planted.test.helper.js';
import { cleanRecord } from './record.test.helper.js';
import { registry, sentenceOf } from './registry.js';
import { type Rich, richRecord } from './rich-record.test.helper.js';

/** Findings of a right record with faults in it. */
function found(plant: (record: StepRecord) => void, into?: Rich) {
  const record = richRecord(into);
  plant(record);
  return diagnose({ records: [record] });
}
const diagnose = (material: Material) => examine(material, registry).findings;
const ofLog = (metrics: Record<string, (number | undefined)[]>, declared = {}) =>
  diagnose({ series: seriesOf({ metrics }), declared });
const codes = (findings: readonly { code: string }[]) => findings.map(({ code }) => code);
/** What warns or fails. */
const sick = (findings: ReturnType<typeof diagnose>) =>
  codes(findings.filter(({ severity }) => severity !== 'inform'));
const off = (by: number) => (record: StepRecord) =>
  change(record, 'policyLogprobs', (value, i) => value + (i % 2 ? by : -by));

describe('the registry', () => {
  it('has codes of its own for every check', () => {
    const all = codes(registry);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('a check that nothing proves', () => {
  const failing = (proofs: StepCheck['proofs']): StepCheck => ({
    ...registry.find((check): check is StepCheck => check.scope === 'step' && check.kind === 'identity')!,
    proofs,
    test: () => fail({}),
  });
  const severityOf = (proofs: StepCheck['proofs']) =>
    examine({ records: [cleanRecord()] }, [failing(proofs)]).findings[0]?.severity;

  it('warns where a proved one fails', () => {
    expect(severityOf([])).toBe('warn');
    expect(severityOf(['log only'])).toBe('fail');
  });

  it('does so in the registry too', () => {
    const { findings } = examine(
      { series: seriesOf({ metrics: { reward: [0.1, Number.NaN, 0.3] } }) },
      registry,
    );
    expect(findings).toMatchObject([{ code: 'B29.log', severity: 'warn' }]);
  });
});

describe('a clean step', () => {
  it.each([1, 2, 3, 4, 5])('has no finding, seed %i', (seed) => {
    expect(diagnose({ records: [cleanRecord(seed)] })).toEqual([]);
  });
});

describe('an empty record', () => {
  it('passes nothing', () => {
    const record = {
      format: 'grpo-step',
      version: RECORD_VERSION,
      step: 1,
      producer: { name: 'test' },
    } as const;
    const { judgements, findings } = examine({ records: [record] }, registry);
    expect(findings).toEqual([]);
    expect(judgements.filter(({ verdict }) => verdict !== 'not applicable')).toEqual([]);
  });
});

describe('the order of findings', () => {
  it('has what only answers a question where nothing warns', () => {
    const log = { loss: times(4, 0), grad_norm: times(4, 0.1), reward: [0.4, 0.6, 0.5, 0.3] };
    expect(codes(ofLog(log))).toEqual(['B43.zero']);
    const sickToo = ofLog({ ...log, 'completions/clipped_ratio': times(4, 1) });
    expect(sick(sickToo).length).toBeGreaterThan(0);
    expect(codes(sickToo)).not.toContain('B43.zero');
  });

  it('leads with the earliest failure, and marks what it is known to bring about', () => {
    const [cause, ...rest] = found((record) => {
      record.prompts!.scoredIds![3] = 44;
      off(0.5)(record);
    });
    expect(cause).toMatchObject({ code: 'B02.prompt', severity: 'fail' });
    expect(cause).not.toHaveProperty('inducedBy');
    const sure = rest.filter(({ inducedBy }) => inducedBy?.sure);
    expect(codes(sure)).toEqual(expect.arrayContaining(['B38.policy', 'B39.gap']));
    for (const { inducedBy } of sure) expect(inducedBy).toEqual({ code: 'B02.prompt', sure: true });
  });

  it('marks later failures of another kind as possible consequences, and earlier ones as independent', () => {
    const findings = found((record) => {
      record.prompts!.scoredIds![3] = 44;
      record.prompts!.ids![1] = 0;
      record.prompts!.scoredIds![1] = 0;
      record.updates![0]!.loss! += 1;
    });
    const by = Object.fromEntries(findings.map(({ code, inducedBy }) => [code, inducedBy]));
    expect(findings[0]!.code).toBe('B04.bos');
    expect(by['B02.prompt']).toEqual({ code: 'B04.bos', sure: false });
    expect(by['B43.terms']).toEqual({ code: 'B04.bos', sure: false });
    const unrelated = found((record) => {
      record.scored!.ids![startOf(record, 9) + 3] = 45;
      record.prompts!.scoredIds![3] = 44;
    });
    expect(unrelated.map(({ code, inducedBy }) => [code, inducedBy])).toEqual([
      ['B02.prompt', undefined],
      ['B07.ids', undefined],
    ]);
  });

  it('puts a failure before a warning of an earlier stage that does not explain it', () => {
    const findings = found((record) => {
      record.completions!.texts!.fill('', 8, 18);
      record.completions!.sampledTexts!.fill('', 8, 18);
      record.updates![0]!.loss = 5;
    });
    expect(codes(findings).slice(0, 1)).toEqual(['B43.components']);
    expect(codes(findings)).toContain('B03.blank');
  });

  it('leads with a warning that is known to bring the failure about', () => {
    const findings = found((record) => {
      record.declared!.activeDropout = ['h.0.drop'];
      delete record.probes!.checksums;
      delete record.completions!.samplerLogprobs;
      delete record.completions!.sampledLogprobs;
      delete record.scored!.oldLogprobs;
      off(0.5)(record);
    });
    expect(findings[0]).toMatchObject({ code: 'B38.dropout', severity: 'warn' });
    expect(findings.find(({ code }) => code === 'B51.start')).toMatchObject({
      severity: 'fail',
      inducedBy: { code: 'B38.dropout', sure: true },
    });
  });

  it('names no cause among what only informs', () => {
    const findings = found(({ rewards }) => {
      rewards!.totals!.fill(1);
      rewards!.values!.fill(1);
    });
    for (const { severity, inducedBy } of findings.filter(({ severity: s }) => s === 'inform'))
      expect([severity, inducedBy?.sure ?? false]).toEqual(['inform', expect.any(Boolean)]);
  });

  it('puts what brings others about first among what only informs', () => {
    const columns = { frac_reward_zero_std: 0.7, reward: 0.4, 'completions/mean_length': 255 };
    const entries = [1, 2, 3].map((step) => ({ step, values: { ...columns, reward: step / 10 } }));
    const findings = diagnose({ series: { entries, producer: { name: 'test' } } });
    expect(findings.map(({ code, severity }) => [code, severity]).slice(0, 2)).toEqual([
      ['B09.length', 'inform'],
      ['B30.few', 'inform'],
    ]);
  });

  it('collects steps: the worst is told, with all steps on which anything was', () => {
    const records = [1, 2, 3].map((step) => {
      const record = richRecord({ step });
      if (step > 1) record.prompts!.scoredIds![3] = 44;
      return record;
    });
    expect(diagnose({ records })[0]).toMatchObject({
      code: 'B02.prompt',
      steps: [2, 3],
      judged: 3,
      evidence: [{ step: 2, prompt: 0, token: 3 }],
    });
  });
});

it('what chance may bring about in one step only informs where the last one passes', () => {
  const stepsFlat = (flat: readonly number[]) =>
    [1, 2, 3].map((step) => {
      const record = richRecord({ step });
      if (flat.includes(step)) {
        record.rewards!.totals!.fill(0.1);
        record.rewards!.values!.fill(0.1);
      }
      return record;
    });
  const found = (flat: readonly number[]) =>
    diagnose({ records: stepsFlat(flat) }).find(({ code }) => code === 'B20.constant');
  expect(found([1, 2])).toMatchObject({ severity: 'inform', steps: [1, 2] });
  expect(found([3])).toMatchObject({ severity: 'warn', steps: [3] });
  expect(found([])).toBeUndefined();
});

describe('confusable faults', () => {
  it('a constant reward (B20), flat groups (B30), lost gradients (B53)', () => {
    const flatGroups = (record: StepRecord) => {
      record.rewards!.totals = record.rewards!.totals!.map((_, b) => Math.floor(b / 4) / 7);
      record.rewards!.values = record.rewards!.totals;
      record.advantages!.fill(0);
      for (const i of [0, 1]) {
        change(record, 'policyTerms', () => 0, i);
        record.updates![i]!.gradNorm = 0;
        record.updates![i]!.loss = 0;
        delete record.updates![i]!.components;
        change(record, 'klTerms', () => 0, i);
      }
      delete record.scored!.referenceLogprobs;
    };
    const constant = found((record) => {
      flatGroups(record);
      record.rewards!.totals!.fill(0.5);
    });
    expect(constant[0]).toMatchObject({ code: 'B20.constant' });
    expect(constant.find(({ code }) => code === 'B30.flat')?.inducedBy).toEqual({
      code: 'B20.constant',
      sure: true,
    });
    const flat = found(flatGroups);
    expect(codes(flat)).toEqual(['B30.flat']);
    const lost = found((record) => {
      record.updates![0]!.gradNorm = 0;
    });
    expect(sick(lost)[0]).toBe('B53.gradient');
  });

  it('a ratio other than 1 at once: dropout (B38), prompt (B02), temperature (B19), engines (B39)', () => {
    const dropout = found((record) => {
      off(0.3)(record);
      record.probes!.repeatedScoring!.max = 0.6;
      record.probes!.aloneInBatch!.max = 0.6;
    });
    expect(dropout[0]!.code).toBe('B38.repeat');
    const prompt = found((record) => {
      off(0.3)(record);
      record.prompts!.scoredIds![3] = 44;
    });
    expect(prompt[0]!.code).toBe('B02.prompt');
    const scale = (record: StepRecord) => {
      change(record, 'policyLogprobs', (value) => value * 0.7);
      record.scored!.referenceLogprobs = record.updates![0]!.policyLogprobs!.slice();
      record.probes!.plainScoring![0]!.policy.mean = 0.3;
      record.probes!.plainScoring![1]!.policy.mean = 1e-6;
    };
    expect(found(scale)[0]!.code).toBe('B19.scoring');
    const engines = found((record) => {
      off(2e-3)(record);
      record.scored!.referenceLogprobs = record.updates![0]!.policyLogprobs!.slice();
      delete record.scored!.oldLogprobs;
    });
    expect(sick(engines)[0]).toBe('B39.gap');
  });

  it('cut off: end unknown from the start (B16), unlearnt (B08)', () => {
    const cut = 'completions/clipped_ratio';
    expect(sick(ofLog({ [cut]: times(40, 1) }))[0]).toBe('B16.log');
    expect(sick(ofLog({ [cut]: times(40, (i) => Math.min(1, i / 30)) }))[0]).toBe('B08.log');
  });

  it('no gradient: nothing is whole (B09), or nobody knows why (B45)', () => {
    const dead = { grad_norm: times(3, 0), loss: times(3, 0) };
    expect(sick(ofLog({ ...dead, 'completions/clipped_ratio': times(3, 1) }))[0]).toBe('B09.log');
    expect(sick(ofLog(dead))[0]).toBe('B45.zero-log');
  });

  it('ratios of exactly 1: several updates (B40), one update', () => {
    const stuck = (record: StepRecord) => {
      record.updates![1]!.ratios!.fill(1);
      record.updates![1]!.policyLogprobs = record.scored!.oldLogprobs!.slice();
    };
    expect(codes(found(stuck))).toContain('B40.ratio');
    const once = found((record) => {
      record.updates = [record.updates![0]!];
      record.declared!.updatesPerRollout = 1;
    });
    expect(once).toEqual([]);
  });

  it('a loss of 0: nothing to train on (B45), or a ratio of 1', () => {
    expect(
      sick(ofLog({ loss: times(20, 0), grad_norm: times(20, 0.4), reward: times(20, (i) => i % 3) })),
    ).toEqual([]);
    expect(
      sick(ofLog({ loss: times(20, 0), grad_norm: times(20, 0), reward: times(20, (i) => i % 3) })),
    ).toContain('B45.zero-log');
  });

  it('a KL that is not 0 at once (B51), one that explodes later (B49)', () => {
    expect(codes(ofLog({ kl: [1, 1.3, 1.2, 1.5] }))[0]).toBe('B51.log');
    expect(codes(ofLog({ kl: [0, 0.02, 0.05, 50] }))[0]).toBe('B49.explosion');
  });

  it('flat groups (B30): after the KL exploded (B49), or before', () => {
    const from = (step: number, before: number, after: number) =>
      times(40, (i) => (i < step ? before : after) + 0.01 * (i % 3));
    const run = (flat: number, kl: number) =>
      sick(
        ofLog({
          reward: times(40, (i) => 0.05 * (i % 3)),
          frac_reward_zero_std: from(flat, 0.1, 0.9),
          kl: from(kl, 0, 5),
        }),
      );
    expect(run(4, 4)).toEqual(expect.arrayContaining(['B49.explosion', 'B30.log']));
    expect(run(4, 4).indexOf('B49.explosion')).toBeLessThan(run(4, 4).indexOf('B30.log'));
    expect(run(4, 12).indexOf('B30.log')).toBeLessThan(run(4, 12).indexOf('B49.explosion'));
  });

  it('evaluations that stand still: rounded away (B52), a learning rate of 0 (B54)', () => {
    const still = {
      reward: times(60, (i) => i % 7),
      eval_reward: times(60, (i) => (i % 10 ? undefined : 0.19)),
    };
    expect(sick(ofLog({ ...still, learning_rate: times(60, 1e-7) }))).toEqual(['B52.log']);
    expect(sick(ofLog({ ...still, learning_rate: times(60, 0) }))).toEqual(['B54.rate']);
  });

  it('a lost end token by itself (B08), by comparing with the padding (B12), with all tokens but one (B37)', () => {
    const lost = (b: number) =>
      found((record) => cutScored(record, b, record.scored!.lengths![b]! - 1))[0]!.code;
    expect([lost(10), lost(9)]).toEqual(['B08.end', 'B12.padding']);
    expect(found((record) => cutScored(record, 10, 1))[0]!.code).toBe('B37.scored');
  });
});

describe('what cannot be told', () => {
  const said = (findings: ReturnType<typeof diagnose>, code: string) =>
    sentenceOf(findings.find((finding) => finding.code === code)!);
  it('is said, with what would tell', () => {
    const natural = found(({ rewards }) => {
      rewards!.totals!.fill(1);
      rewards!.values!.fill(1);
    });
    const noMask = found(({ scored, updates }) => {
      delete scored!.mask;
      updates![0]!.gradNorm = 0;
    });
    const flatter = found((record) => change(record, 'policyLogprobs', (value) => value - 0.5));
    const sentences = [
      said(natural, 'B20.constant'),
      said(noMask, 'B53.gradient'),
      said(flatter, 'B19.surprise'),
      said(ofLog({ kl: [1, 1.3, 1.2] }), 'B51.log'),
      said(ofLog({ reward: times(5, 0), reward_std: times(5, 0) }), 'B20.log'),
    ];
    for (const sentence of sentences) expect(sentence).toMatch(/\b[Ee]ither .+ or .+ would show which/s);
  });
});

it('reports how far it is between two checks of a record', () => {
  const heard: StageProgress[] = [];
  const watch = new Watch({ progress: (now) => heard.push(now) });
  examine({ records: [richRecord(), richRecord({ step: 2 })] }, registry, watch);
  const steps = registry.filter(({ scope }) => scope === 'step').length;
  expect(heard).toHaveLength(1 + 2 * steps);
  const done = heard.map((now) => now.done);
  expect(done).toEqual([...done].sort((a, b) => a - b));
  expect(heard.at(-1)).toMatchObject({ stage: 'doctor', done: expect.closeTo(2 - 1 / steps, 9), total: 2 });
});
