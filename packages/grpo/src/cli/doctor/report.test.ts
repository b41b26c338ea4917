import { describe, expect, it } from 'vitest';
import type { Finding } from '../../doctor/finding.js';
import { registry } from '../../doctor/registry.js';
import { arrange } from '../../view/report/arrange.js';
import { place } from '../../view/report/examined.js';
import { reportOf } from '../../view/report/report.js';
import { diagnoseText } from './diagnose.test.helper.js';
import { rookworldLog } from './seed-logs.test.helper.js';
import { terminalReport } from './terminal.js';

const finding = (
  code: Finding['code'],
  severity: Finding['severity'],
  inducedBy?: Finding['inducedBy'],
): Finding => ({
  code,
  fault: code.slice(0, 3) as Finding['fault'],
  severity,
  level: 4,
  steps: [],
  judged: 1,
  measured: {},
  evidence: [],
  ...(inducedBy && { inducedBy }),
});
const codes = (findings: readonly Finding[]) => findings.map(({ code }) => code);

describe('findings are arranged', () => {
  it('around the one that leads', () => {
    const by = (sure: boolean) => ({ code: 'B38.log' as const, sure });
    const found = arrange([
      finding('B38.log', 'warn'),
      finding('B38.repeat', 'fail'),
      finding('B51.log', 'fail', by(true)),
      finding('B54.rate', 'inform', by(false)),
      finding('B58.log', 'warn', by(false)),
      finding('B06.log', 'warn'),
    ]);
    expect(
      Object.fromEntries(Object.entries(found).map(([standing, list]) => [standing, codes(list)])),
    ).toEqual({
      cause: ['B38.log'],
      sign: ['B38.repeat'],
      follows: ['B51.log'],
      'may follow': ['B58.log'],
      besides: ['B06.log'],
      'to know': ['B54.rate'],
    });
  });

  it('without one where all only informs', () => {
    const found = arrange([finding('B09.log', 'inform'), finding('B09.prompt', 'inform')]);
    expect(found.cause).toEqual([]);
    expect(codes(found['to know'])).toEqual(['B09.log', 'B09.prompt']);
  });
});

/** The report of a log for a terminal. */
async function reported(
  name: string,
  text: string,
  width?: number,
  more: readonly string[] = [],
): Promise<string> {
  const diagnosed = await diagnoseText(name, text);
  const { kind, files, notes, broken, series } = diagnosed.reading;
  const read = { path: name, kind, files, notes: [...more, ...notes], broken, isGrpo: true };
  const examined = { ...read, records: 0, entries: series!.entries.length };
  return terminalReport(reportOf(examined, diagnosed, registry), width);
}

it.each([40, 60, 100])('a report fits into %i columns', async (width) => {
  const lines = (await reported('run.log', rookworldLog({ miss: () => -5 }), width)).split('\n');
  expect(lines.length).toBeGreaterThan(20);
  // A name longer than a line stands alone.
  expect(lines.filter((line) => line.length > width && line.trim().includes(' '))).toEqual([]);
});

it('the first note has room on a full screen', async () => {
  const report = await reported('run.log', rookworldLog({ miss: () => -5 }), 40, [
    'It overrides a method.',
    'Other.',
  ]);
  expect(report).toContain('It overrides a method.');
  expect(report).not.toContain('Other.');
});

describe('a place', () => {
  it.each([
    [
      { step: 3, prompt: 1, completion: 5, token: 2, text: 'a "b"', values: { id: 7 } },
      'step 3, prompt 1, completion 5, token 2: "a \\"b\\"" · id 7',
    ],
    [{ step: 1, text: 'grad_norm', values: { value: 0 } }, 'step 1: grad_norm 0'],
    [{ step: 1, values: { kl: 0.25, beta: 1e-7 } }, 'step 1: kl 0.25, beta 1e-7'],
    [{ text: 'the answer' }, '"the answer"'],
    [{ text: 'reward', values: { level: 0.5 } }, 'reward · a level of 0.5'],
  ])('is written down to the token', (evidence, text) => expect(place(evidence)).toBe(text));
});

it('names the findings without room, and the means that are geometric', async () => {
  const rows = Array.from({ length: 120 }, (_, i) => {
    const [noise, isLate] = [0.01 * Math.sin(1.7 * i * i), i > 60];
    return JSON.stringify({
      step: i + 1,
      reward: (isLate ? 0.05 : 0.8) + noise,
      entropy: (isLate ? 0.001 : 0.5) * (1 + noise),
      grad_norm: (isLate ? 9 : 0.3) * (1 + noise),
      frac_reward_zero_std: (isLate ? 0.8 : 0.1) + noise,
      'completions/mean_length': (isLate ? 900 : 100) * (1 + noise),
      'completions/clipped_ratio': (isLate ? 0.9 : 0.05) + noise,
      'sampling/sampling_logp_difference/mean': (isLate ? 0.5 : 0.01) * (1 + noise),
    });
  });
  const text = (await reported('a.jsonl', rows.join('\n'))).replace(/\s+/g, ' ');
  expect(text).toContain('as means (geometric of mean length, entropy, gradient norm, ');
  expect(text).toMatch(/\d more \(B\d\d\.[a-z-]+, [a-z ]+[;,)]/);
});

it('puts what stands out of a log that is too little before its course, with what to do', async () => {
  const rows = ['| step | reward |', '|---|---|', '| 1 | 0.0 |', '| 2 | 0.0 |', '| 3 | 0.0 |'];
  const text = await reported('f.md', rows.join('\n'));
  expect(text).toMatch(
    /^What stands out:\nnote {2}The reward is 0 in all 3 entries[\s\S]*\n {6}do {2}Grade a gold completion/m,
  );
});
