import { describe, expect, it } from 'vitest';
import { page, summarize, tables } from './page.mjs';
import { flagsOf, workloads } from './workloads.mjs';

const shared = {
  at: '2031-05-01T10:00:00.000Z',
  load: 0.5,
  machine: 'a processor, 2 cores',
  threads: 2,
  steps: 4,
  node: '20.20.0',
  commit: 'abc',
};

const trl = (workload, step, rollout, memory) => ({
  ...shared,
  workload,
  side: 'trl',
  result: {
    torch: '2.13.0',
    versions: { trl: '1', transformers: '5' },
    step_s_median: step,
    rollout_s_median: rollout,
    generate_s_median: rollout / 2,
    peak_rss_mb: memory,
  },
});

const ours = (workload, step, sampling, reference, memory) => ({
  ...shared,
  workload,
  side: 'ours',
  result: {
    torch: '2.13.0',
    step_s_median: step,
    rollout_s_median: sampling,
    peak_rss_mb: memory,
    matmul_gflops: 200,
    triad_gb_s: 20,
    decode_over_floor: 1.5,
    step_over_floor: 1.25,
    stages: [
      { stage: 'decode', seconds: sampling, tokensPerSecond: 100, gflops: 50, floor: 0.5 },
      ...(reference
        ? [{ stage: 'reference', seconds: reference, tokensPerSecond: 300, gflops: 150, floor: 0.4 }]
        : []),
      { stage: 'optimizer', seconds: 0.01, floor: 0.004 },
    ],
  },
});

describe('the summary of a comparison', () => {
  const rows = [
    // One run of three was disturbed: the medians are those of the others.
    ...[10, 30, 10].map((step) => trl('gpt2', step, 8, 1000)),
    ...[4, 4, 4].map((step) => ours('gpt2', step, 1.5, 0.5, 500)),
    trl('tiny', 5, 2, 2000),
    ours('tiny', 2.5, 1, 0, 950),
  ];
  const [tiny, , , gpt2] = summarize(rows);

  it('takes ratios of medians, of seconds TRL ÷ ours and of memory ours ÷ TRL', () => {
    expect(gpt2.step).toMatchObject({ ratio: 2.5, trl: { median: 10, least: 10, most: 30 } });
    expect(gpt2.memory.ratio).toBe(0.5);
    expect(gpt2.rounds).toBe(3);
  });

  it('counts the reference to the rollout of both sides, and to the generation of none', () => {
    expect(gpt2.rollout.ours.median).toBe(2);
    expect(gpt2.rollout.ratio).toBe(4);
    expect(gpt2.generation.ratio).toBeCloseTo(4 / 1.5);
  });

  it('says which goals were missed', () => {
    expect(gpt2.missed).toEqual([]);
    expect(tiny.missed).toEqual(['step', 'rollout', 'memory']);
  });

  it('leaves out what was not run on both sides', () => {
    expect(summarize([trl('tiny', 5, 2, 2000)])[0].rounds).toBe(0);
    expect(tables(rows).ratios).toContain('| not measured |');
  });

  it('shows stages with their share of the matrix rate, where they have one', () => {
    expect(tables(rows).stages).toContain('| reference | 0.500 | 0.400 | 300 | 150 | 75 % |');
    expect(tables(rows).stages).toContain('| optimizer | 0.010 | 0.004 |  |  |  |');
  });

  it('has a column of each processor: figures of another stay, those of the same one give way', () => {
    const { ratios, floors } = tables(rows);
    const other = 'AMD EPYC 25.1 (avx2), 2 cores';
    for (const table of [ratios, floors]) {
      expect(table).toContain('| a processor, 2 cores, 2031-05-01 |');
      expect(table).toContain(`| ${other}, 2026-11-29, 2026-12-01 |`);
    }
    expect(ratios).toContain('| 2.56 · 3.43 · 0.52 |');
    expect(floors).toContain('| 1.46 · 1.16 |');
    const same = tables(rows.map((row) => ({ ...row, machine: other })));
    for (const table of [same.ratios, same.floors]) {
      expect(table).toContain(`| ${other}, 2031-05-01 |`);
      expect(table).not.toContain(`| ${other}, 2026-11-29, 2026-12-01 |`);
    }
  });

  it('shows how far decoding and the step are from their floors, of drawn work too', () => {
    const drawn = [trl('seed-7', 5, 2, 2000), ours('seed-7', 2.5, 1, 0, 950)];
    const { floors } = tables([...rows, ...drawn]);
    expect(floors).toMatch(/\| seed 7: .* \| 1\.50 · 1\.25 \|/);
  });

  it('shows the floors and stages of work that TRL did not do', () => {
    const alone = ours('seed-7', 2.5, 1, 0, 950);
    const { ratios, floors, stages } = tables([...rows, alone]);
    expect(ratios).toMatch(/\| seed 7: .* \| not measured \|/);
    expect(floors).toMatch(/\| seed 7: .* \| 1\.50 · 1\.25 \|/);
    expect(stages).toContain('seed 7: ');
  });

  it('makes a page without holes', () => {
    expect(page(rows)).not.toMatch(/undefined|NaN|Infinity|\[object/);
    expect(page(rows)).toContain('; missed: step, rollout, memory |');
  });
});

it('writes flags as both sides take them', () => {
  expect(flagsOf({ model: 'tiny', beta: 0, bf16: true })).toEqual([
    '--model',
    'tiny',
    '--beta',
    '0',
    '--bf16',
  ]);
  expect(new Set(workloads.map(({ name }) => name)).size).toBe(6);
});
