import { describe, expect, it } from 'vitest';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { diagnose, diagnoseText } from './diagnose.test.helper.js';
import { argenLogs, nanoGptLog, rookworldLog } from './seed-logs.test.helper.js';
import { cs336Completions, cs336Log, dualConsole, dualTable } from './seed-tables.test.helper.js';

describe('one log file per step: a constant reward, every completion cut off', () => {
  const sick = (reward: number) =>
    diagnose(
      folderOf(
        argenLogs({
          reward: () => reward,
          deviationOf: () => 0,
          gradient: () => 0,
          clipped: () => 1,
          loss: () => 0,
        }),
      ),
    );

  it('leads with the constant', async () => {
    const { sick: codes, findings, says } = await sick(0.25);
    expect(codes).toEqual(['B20.log', 'B16.log', 'B45.zero-log']);
    expect(findings.slice(1).map(({ inducedBy }) => inducedBy?.code)).toEqual(['B20.log', 'B20.log']);
    expect(says('B20.log')).toMatch(
      /0\.25 in all 4 entries.*falls back to 0\.25.*All completions are truncated/s,
    );
  });

  it('cannot tell where the reward is 0: cut answers earn that too', async () => {
    const { sick: codes, says } = await sick(0);
    expect(codes[0]).toBe('B20.log');
    expect(says('B20.log')).toMatch(
      /Either the reward is broken, or no answer is complete.*would show which/,
    );
  });
});

describe('a log of a manual GRPO loop: a policy that is scored with dropout', () => {
  it.each([false, true])('leads with the scoring, not with the KL of step 1 (timed: %s)', async (timed) => {
    const { sick, findings, says } = await diagnoseText('run.log', rookworldLog({ miss: () => -5, timed }));
    expect(sick[0]).toBe('B38.likelihood');
    expect(sick).toContain('B38.log');
    expect(findings.find(({ code }) => code === 'B51.log')!.inducedBy).toEqual({
      code: 'B38.likelihood',
      sure: true,
    });
    expect(says('B38.likelihood')).toMatch(
      /At step 1 the policy gives its own completions -\d{3} nats.*training mode/,
    );
  });

  it('says what it cannot tell when only a large, still KL is left', async () => {
    const rows = Array.from(
      { length: 30 },
      (_, i) => `{'loss': 0.1, 'reward': 0.${20 + i}, 'kl': 11.${10 + (i % 3)}, 'step': ${50 + 10 * i}}`,
    );
    const { sick, says } = await diagnoseText('console.log', rows.join('\n'));
    expect(sick[0]).toBe('B38.constant');
    expect(says('B38.constant')).toMatch(/Either .*\(B38\).* or .*\(B51\)/);
  });
});

/** Weights that stay give the KL nothing to grow from. */
const UNMOVED = { steps: 24, learningRate: 1e-7, miss: () => -0.002, evaluation: () => 0.1875 };

describe('a log of a manual GRPO loop: updates that bf16 rounds away', () => {
  it('names the weights that do not move', async () => {
    const text = rookworldLog(UNMOVED);
    const { sick, says } = await diagnoseText('run.log', text);
    expect(sick).toEqual(['B52.log']);
    expect(says('B52.log')).toMatch(/25 evaluations in a row, over 24 steps, are 0\.1875 .*1e-7.*bfloat16/);
  });

  it('tells it from the table alone', async () => {
    const text = rookworldLog(UNMOVED);
    const { sick } = await diagnoseText('table.log', text.slice(text.indexOf('Step |')));
    expect(sick).toEqual(['B52.log']);
  });
});

it('a log of a manual GRPO loop: totals that run on over the padding are named before the scoring', async () => {
  const { sick, says } = await diagnoseText('run.log', rookworldLog({ padding: 250 }));
  expect(sick[0]).toBe('B14.log');
  expect(says('B14.log')).toMatch(
    /different completions of a prompt have the same total log-prob \(-10\d\d nats.*padding/,
  );
});

it('a log of a manual GRPO loop: both faults in one log are both named', async () => {
  const { sick, findings } = await diagnoseText('run.log', rookworldLog({ padding: 250, miss: () => -5 }));
  expect(sick).toEqual(['B38.log', 'B51.log', 'B14.log']);
  expect(findings[2]!.inducedBy).toBeUndefined();
});

describe('a trainer of two tasks with a table and a console', () => {
  it('leads with the KL of step 1 in the table, and says what it cannot tell', async () => {
    const text = dualTable({ kl: (step) => 1.007 + 0.01 * Math.sin(step), cut: () => 0.4 });
    const { sick, told, says } = await diagnoseText('train_step_metrics.csv', text);
    expect(sick).toEqual(['B51.log']);
    expect(says('B51.log')).toMatch(
      /KL of step 1 is 0\.76\d nats per token.*Either the reference is not the model that training started from/,
    );
    expect(told).toEqual(['B09.log']);
    expect(says('B09.log')).toMatch(
      /^20 % of the completions are truncated at the length limit in the median of \d+ entries\.$/,
    );
  });

  it('leads with it on the console too', async () => {
    const text = dualConsole({ entropy: () => 0.4, kl: (step) => 1.007 + 0.1 * step });
    const { sick } = await diagnoseText('console.log', text);
    expect(sick[0]).toBe('B51.log');
  });

  it('names the sign of the entropy bonus where a larger one lowers the entropy', async () => {
    const steps = [0.2, 0.5, 1, 1.5, 2, 2.5, 6];
    const text = dualConsole({
      steps: 35,
      coefficient: (step) => steps[Math.floor((step - 1) / 5)]!,
      entropy: (step) => 1.2 * 0.9 ** step,
      kl: (step) => 0.003 * (step - 1),
    });
    const { sick, says } = await diagnoseText('console.log', text);
    expect(sick).toEqual(['B42.log']);
    expect(says('B42.log')).toMatch(
      /raised 6 times in a row, from 0\.2 to 6, and the entropy fell each time/,
    );
  });

  it('names monitors that contradict each other', async () => {
    const text = dualConsole({ entropy: () => 0.4, flat: () => 3, counted: () => 4 });
    const { sick, says } = await diagnoseText('console.log', text);
    expect(sick).toEqual(['B59.monitors']);
    expect(says('B59.monitors')).toMatch(/50 % and 16\.7 % of the groups/);
  });

  it('names completions that are all cut off from the start', async () => {
    const text = dualTable({ kl: (step) => 0.002 * (step - 1), cut: () => 1 }).replaceAll(
      /^(\d+(?:,[^,]*){14}),0,/gm,
      '$1,1,',
    );
    const { sick, says } = await diagnoseText('train_step_metrics.csv', text);
    expect(sick).toEqual(['B16.log']);
    expect(says('B16.log')).toMatch(/truncated from the start.*100 % of all/);
  });
});

describe('a log of micro-steps and iterations', () => {
  it.each([true, false])(
    'leads with the missing masks, not with the equal rewards (last version: %s)',
    async (late) => {
      const text = nanoGptLog({ late, masks: (iteration) => (iteration === 0 ? 120 : 0) });
      const { sick, says } = await diagnoseText('out.log', text);
      expect(sick[0]).toBe('B45.masks');
      expect(says('B45.masks')).toMatch(/No position was masked in 3 of 4 entries/);
    },
  );

  it('names micro-steps that are left out while the divisor stays', async () => {
    const text = nanoGptLog({ skips: (iteration, micro) => iteration > 1 && micro === 3 });
    const { sick, says } = await diagnoseText('out.log', text);
    expect(sick).toEqual(['B44.log']);
    expect(says('B44.log')).toMatch(
      /3 micro-steps were executed, but the loss was divided by 4 \(in 2 of 4 entries\)/,
    );
  });

  it('does so without a configured number', async () => {
    const text = nanoGptLog({ configured: false, masks: (_, micro) => (micro === 1 ? 0 : 90) });
    expect((await diagnoseText('out.log', text)).sick).toEqual(['B44.log']);
  });

  it('makes a little of a loss of 0 alone, and of a second step that takes longer', async () => {
    const text =
      'iter 0: loss 0.2211 (main 0.2211, critic 0.0000), time 20100.50ms\niter 1: loss 0.0000 (main 0.0000, critic 0.0000), time 99000.10ms\n';
    const { sick, told } = await diagnoseText('out.log', text);
    expect(sick).toEqual([]);
    expect(told).toEqual(['B60.second']);
  });

  /** Two iterations, the second with a policy loss of 0 beside rewards that differ. */
  const broken = (warning: string) =>
    [
      '[Micro 0] 3. Samples scored: mem=840 MB, time=0.300s, rewards=0.4312±0.1203',
      '[Micro 0] 4. Loss computed: mem=902 MB, time=0.900s, pg_loss=0.123400, kl=0.000100, total=0.123500',
      'iter 0: loss 0.1235 (main 0.1235, critic 0.0000), time 1747.97ms',
      '[Micro 0] 3. Samples scored: mem=940 MB, time=0.300s, rewards=0.4400±0.1203',
      warning,
      '[Micro 0] 4. Loss computed: mem=902 MB, time=0.900s, pg_loss=0.000000, kl=0.000000, total=0.000000',
      'iter 1: loss 0.0000 (main 0.0000, critic 0.0000), time 1634.20ms',
    ].join('\n');
  const WARNING = 'WARNING: All sequence_log_probs are near zero!';

  it('names log-probs that are 0 where rewards differ and the loss has no ratio', async () => {
    for (const warning of ['', `${WARNING} num_masked=12.0`]) {
      const { sick, says } = await diagnoseText('out.log', broken(warning));
      expect(sick[0]).toBe('B37.log');
      expect(says('B37.log')).toMatch(/In 1 of 2 entries the policy loss is exactly 0.*± 0\.12/);
    }
  });

  it('reads the number of masked positions in a warning', async () => {
    const { sick } = await diagnoseText('out.log', broken(`${WARNING} num_masked=0.0`));
    expect(sick).toEqual(['B45.masks']);
  });

  it('names advantages of 0 where rewards differ', async () => {
    const text = broken('WARNING: All advantages are near zero! rewards_grouped=[0.2, 0.6]');
    expect((await diagnoseText('out.log', text)).sick).toEqual(['B30.warned']);
  });
});

describe('a tracker log with completions: a stop string that the engine drops', () => {
  it('leads with the format in the metrics', async () => {
    const { sick, findings, says } = await diagnoseText(
      'wandb.jsonl',
      cs336Log({ format: () => 0, answer: () => 0 }),
    );
    expect(sick[0]).toBe('B06.log');
    expect(says('B06.log')).toMatch(
      /rewards\/format\/mean and eval_\S+ are 0 in all 40 entries.*the engine drops the stop string/,
    );
    expect(findings.slice(1).every(({ inducedBy }) => inducedBy?.code === 'B06.log')).toBe(true);
  });

  it('does so on a short test run with evaluations only', async () => {
    const text = cs336Log({ steps: 10, evalEvery: 2, format: () => 0, answer: () => 0 });
    expect((await diagnoseText('wandb.jsonl', text)).sick[0]).toBe('B06.log');
  });

  it.each([true, false])('names the stop string in the completions (finish reasons: %s)', async (finish) => {
    const { sick, says } = await diagnoseText(
      'completions.jsonl',
      cs336Completions({ keepsStop: false, finish }),
    );
    expect(sick[0]).toBe('B06.closed');
    expect(says('B06.closed')).toMatch(/32 of 32 completions open <answer> and none closes it/);
    expect(says('B06.closed').includes('the finish reasons would show which')).toBe(!finish);
  });
});
