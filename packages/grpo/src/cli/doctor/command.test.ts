import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { registry } from '../../doctor/registry.js';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { lines } from '../../trace/readers/files.test.helper.js';
import { call, grpo } from '../grpo.test.helper.js';
import { faultFor } from './explanation.js';
import { argenLogs, nanoGptLog, rookworldLog } from './seed-logs.test.helper.js';
import { cs336Completions, cs336Log, dualTable } from './seed-tables.test.helper.js';

afterEach(() => vi.unstubAllEnvs());

const doctor = (files: Readonly<Record<string, string>>, ...argv: string[]) => {
  const folder = folderOf(files);
  return { folder, ended: call(folder, 'doctor', ...argv) };
};

const constant = argenLogs({
  reward: () => 0.5,
  deviationOf: () => 0,
  gradient: () => 0,
  clipped: () => 1,
  loss: () => 0,
});
const healthy = dualTable({ kl: (step) => 0.002 * (step - 1) });
const supervised = lines(
  [1, 2, 3].map((step) => ({ loss: 2 / step, grad_norm: 0.5, learning_rate: 1e-5, epoch: step / 10, step })),
);

describe('grpo doctor', () => {
  it('leads with the cause, then with what follows: exit code 1', async () => {
    const { out, err, code } = await doctor(constant, '.').ended;
    expect({ err, code }).toEqual({ err: '', code: 1 });
    const [head, cause, follows] = out.split('\n\n');
    expect(head).toBe('.: TRL metrics, one JSON file per step, 4 log entries.');
    expect(cause).toMatch(/^WARN {2}The reward is 0\.5 in all 4 entries/);
    expect(cause).toMatch(
      /where .*step 1: reward 0\.5\n.*do .*Call the reward by hand.*run again {3}the training\n/s,
    );
    expect(follows).toMatch(
      /^This may follow from it:\n.*WARN {2}Loss and gradient are exactly 0 in all 4 entries/s,
    );
    expect(out).toMatch(
      /\d+ of \d+ checks could be made, and the others are no passes: \d+ need step records, /,
    );
    expect(out.trimEnd().split('\n').length).toBeLessThanOrEqual(25);
  });

  it('tells signs of one fault under their cause', async () => {
    const { out, code } = await doctor({ 'run.log': rookworldLog({ miss: () => -5 }) }, 'run.log').ended;
    expect(code).toBe(1);
    expect(out).toMatch(/seen too {4}The KL is negative throughout/);
    expect(out).not.toContain('This is also wrong');
  });

  it('names faults beside their codes, sources, and checks that nothing proves', async () => {
    const { out } = await doctor(constant, '.').ended;
    expect(out).toContain(
      'check       B20.log, reward input: The reward tells completions of a prompt apart\n',
    );
    expect(out).toContain('source      huggingface/trl#4202\n');
    expect(out).toMatch(
      /WARN {2}Loss and gradient [\s\S]*?\(B45\.zero-log,\s+nothing\s+to\s+train\s+on,\s+unproved\)/,
    );
    const rows = Array.from({ length: 60 }, (_, i) => ({
      reward: 0.5,
      grad_norm: i < 30 ? 1 : 30,
      step: i + 1,
    }));
    const grown = await doctor({ 'm.jsonl': lines(rows) }, 'm.jsonl').ended;
    expect(grown.out).toMatch(/check +B54\.gradient, optimizer settings: /);
    expect(grown.out).toMatch(/unproved +No run with this fault has shown that the check finds it\./);
  });

  it.each([
    [
      'a table of two tasks',
      'm.csv',
      dualTable({ kl: () => 1 }),
      /^FAIL {2}The KL of step 1 is 0\.75 nats per token/,
    ],
    [
      'a log of micro-steps',
      'out.log',
      nanoGptLog({ masks: () => 0 }),
      /^FAIL {2}No position was masked in 4 of 4 entries/,
    ],
    [
      'a tracker log',
      'wandb.jsonl',
      cs336Log({ format: () => 0, answer: () => 0 }),
      /^WARN {2}rewards\/format\/mean and eval_\S+ are\s+0 in\s+all 40/,
    ],
  ])('leads with the cause in %s', async (_, name, text, cause) => {
    const { out, code } = await doctor({ [name]: text }, name).ended;
    expect(code).toBe(1);
    expect(out.split('\n\n')[1]).toMatch(cause);
  });

  it('passes a healthy run: exit code 0', async () => {
    const { out, err, code } = await doctor({ 'm.csv': healthy }, 'm.csv').ended;
    expect({ err, code }).toEqual({ err: '', code: 0 });
    expect(out).toContain('\n\nThe checks that could be made found nothing wrong.\n\n');
  });

  it.each([
    ['a log', { 'run.jsonl': supervised }, 'run.jsonl'],
    [
      'a folder',
      {
        'checkpoint-3/trainer_state.json': JSON.stringify({
          global_step: 3,
          logging_steps: 1,
          log_history: supervised
            .trim()
            .split('\n')
            .map((row) => JSON.parse(row) as object),
        }),
      },
      '.',
    ],
    [
      'a run folder of our own',
      {
        'config.json': '{}',
        'metrics.jsonl': lines(
          [1, 2].map((step) => ({
            step,
            loss: 3,
            grad_norm: 1,
            'completions/mean_length': 20,
            step_tokens: 9,
          })),
        ),
        'eval.jsonl': lines([{ step: 2, greedy: { reward: 0.3 } }]),
      },
      '.',
    ],
  ])('judges nothing in %s of supervised training: exit code 2', async (_, files, path) => {
    const { out, code } = await doctor(files as unknown as Record<string, string>, path).ended;
    expect(code).toBe(2);
    expect(out).toContain('Nothing here can be judged.');
    expect(out).toContain('No GRPO signals here');
    expect(out).not.toContain('could be made');
  });

  it.each([
    ['is not there', {}, ['nowhere.log'], /nowhere\.log/],
    ['is empty', { 'run.log': '' }, ['run.log'], /run\.log: the file is empty/],
    ['tells nothing', { 'run.log': 'hello\n' }, ['run.log'], /its only line has no training metrics/],
    ['is missing', {}, [], /the doctor needs one path/],
    ['is one of two', { 'a.log': '' }, ['a.log', 'a.log'], /the doctor needs one path/],
  ] as const)('ends with exit code 2 and one message when the path %s', async (_, files, argv, message) => {
    const { out, err, code } = await doctor(files, ...argv).ended;
    expect({ out, code }).toEqual({ out: '', code: 2 });
    expect(err).toMatch(message);
    expect(err).not.toMatch(/^ +at /m);
  });

  it('counts and names broken lines', async () => {
    const rows = Array.from({ length: 9 }, (_, i) => ({
      loss: 0.1,
      reward: 0.1 * i,
      reward_std: 0.2,
      step: i + 1,
    }));
    const { out } = await doctor({ 'm.jsonl': `${lines(rows)}{"loss": 0.\n` }, 'm.jsonl').ended;
    expect(out).toMatch(/^m\.jsonl: .*, 9 log entries, 1 broken line\.$/m);
    expect(out).toMatch(/Broken, and left out unless it says otherwise: m\.jsonl:10 \(/);
  });

  it('counts evaluations alone only where there is nothing else', async () => {
    const evaluations = [0, 3].map((step) => ({ step, eval_reward: 0.1 }));
    const steps = [1, 2, 3].map((step) => ({ step, reward: 0.1 * step, reward_std: 0.2 }));
    const mixed = await doctor({ 'm.jsonl': lines([...evaluations, ...steps]) }, 'm.jsonl').ended;
    expect(mixed.out).toMatch(/^m\.jsonl: .*, 3 log entries\.$/m);
    const alone = await doctor({ 'm.jsonl': lines(evaluations) }, 'm.jsonl').ended;
    expect(alone.out).toMatch(/^m\.jsonl: .*, 2 log entries\.$/m);
  });
});

it('tells of a log with many metrics what stands out, before how they moved', async () => {
  const lengths = [53, 2.6, 4, 5];
  const rows = lengths.map((length, i) => ({
    step: i + 1,
    reward: [1.75, 3.6, 3, 2.6][i],
    'completions/mean_length': length,
    'completions/clipped_ratio': 0,
    frac_reward_zero_std: [0.1, 0.2, 0.1, 0.2][i],
    entropy: [0.956, 0.9, 0.8, 0.065][i],
    grad_norm: [47, 400, 20, 10][i],
    ...Object.fromEntries(
      ['rewards/a/mean', 'rewards/b/mean', 'rewards/c/mean', 'x', 'y', 'z'].map((name, k) => [
        name,
        0.3 + 0.01 * k + 0.02 * i,
      ]),
    ),
    'completions/min_length': length - 1,
    'completions/max_length': length + 1,
    'completions/mean_terminated_length': length,
  }));
  const { out } = await doctor({ 'm.jsonl': lines(rows) }, 'm.jsonl').ended;
  expect(out).toMatch(/What stands out:\nnote {2}The mean length of the completions fell from 53 to /);
});

describe('the exit code', () => {
  const log = (count: number, row: (i: number) => object) =>
    lines(Array.from({ length: count }, (_, i) => ({ step: i + 1, reward_std: 0.2, ...row(i) })));
  const noise = (i: number) => ({ reward: 0.5 + 0.1 * Math.sin(1.7 * i * i) });

  it('is 4 where there is too little to judge, which is said', async () => {
    const { out, code } = await doctor({ 'm.jsonl': log(20, noise) }, 'm.jsonl').ended;
    expect(code).toBe(4);
    expect(out).toMatch(
      /does\s+not\s+rise\s+so\s+far:.*is\s+excluded.*So\s+few\s+entries\s+do\s+not\s+tell/s,
    );
    const same = Array.from({ length: 20 }, (_, i) => ({ step: i + 1, reward: 0, loss: (i % 2) - 0.5 }));
    const constant = await doctor({ 'm.jsonl': lines(same) }, 'm.jsonl').ended;
    expect(constant.out).toMatch(
      /The reward\s+is\s+0\s+at\s+every\s+one\s+of\s+them\..*though\s+loss\s+or\s+gradient/s,
    );
    expect(out).not.toContain('found nothing wrong');
  });

  it('is 1 for a run that an error ended, whatever else was found', async () => {
    const files = { 'metrics.jsonl': log(120, noise), 'config.json': '{}' };
    const error = JSON.stringify({ step: 120, error: 'Error: full disk' });
    expect((await doctor(files, '.').ended).code).toBe(0);
    const { code, out } = await doctor({ ...files, 'error.json': error }, '.').ended;
    expect([code, out]).toEqual([1, expect.stringContaining('full disk')]);
  });

  it('is 4 for a fall in few steps, which is not called noise', async () => {
    const falls = log(8, (i) => ({ reward: (i < 4 ? 0.25 : 0.1) + 0.01 * (i % 2), reward_std: 0.4 }));
    const { out, code } = await doctor({ 'm.jsonl': falls }, 'm.jsonl').ended;
    expect(code).toBe(4);
    expect(out).toMatch(/The\s+reward\s+falls\s+so\s+far:.*a\s+loss\s+of\s+0\.0\d+\s+at\s+least/s);
  });

  it('is 0 for as much noise in a long run, and for a short one that visibly learns', async () => {
    expect((await doctor({ 'm.jsonl': log(120, noise) }, 'm.jsonl').ended).code).toBe(0);
    const learns = (count: number) => log(count, (i) => ({ reward: i / count }));
    expect((await doctor({ 'm.jsonl': learns(40) }, 'm.jsonl').ended).code).toBe(0);
    // Ten entries may rise and fall again.
    expect((await doctor({ 'm.jsonl': learns(10) }, 'm.jsonl').ended).code).toBe(4);
  });

  it('does not count warnings with --fail-on fail', async () => {
    const fallen = log(40, (i) => ({ reward: (i < 24 ? 0.8 : 0) + 0.02 * (i % 2) }));
    const ended = (...argv: string[]) => doctor({ 'm.jsonl': fallen }, 'm.jsonl', ...argv).ended;
    expect((await ended()).code).toBe(1);
    expect((await ended('--fail-on', 'fail')).code).toBe(0);
    expect(await ended('--fail-on', 'never')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--fail-on takes warn or fail, not never'),
    });
  });
});

describe('grpo doctor --metric', () => {
  const rows = lines(
    Array.from({ length: 40 }, (_, i) => ({
      round: i + 1,
      joy: i < 24 ? 0.8 : 0.02 * (i % 2),
      words: 40 + i,
    })),
  );
  const told = (...columns: string[]) =>
    doctor({ 'm.jsonl': rows }, 'm.jsonl', ...columns.flatMap((column) => ['--metric', column])).ended;

  it('takes columns under names of their own for metrics', async () => {
    const { out, code } = await told('reward=joy', 'completions/mean_length=words');
    expect(code).toBe(1);
    expect(out).toMatch(/The\s+reward\s+fell/);
    expect(out).toContain('Taken for metrics of GRPO: joy as reward, words as completions/mean_length.');
  });

  it('may be of one run of a folder', async () => {
    const files = { 'a/m.jsonl': rows.replaceAll('joy', 'reward'), 'b/m.jsonl': rows };
    const of = (column: string) => doctor(files, '.', '--metric', `reward=${column}`).ended;
    expect(await of('joy')).toMatchObject({ code: 1, err: '' });
    expect(await of('words,joy')).toMatchObject({ code: 2 });
  });

  it('is refused without a log', async () => {
    const { ended } = doctor({}, '--selftest', '--metric', 'reward=joy');
    expect(await ended).toMatchObject({ code: 2, err: expect.stringContaining('give the path of the log') });
  });

  it('wins over the table of names', async () => {
    const both = lines([1, 2, 3].map((step) => ({ step, reward: 9, score: step / 4, loss: 0 })));
    const { out } = await doctor({ 'm.jsonl': both }, 'm.jsonl', '--metric', 'reward=score').ended;
    expect(out).toContain('The reward went from 0.25 to 0.75');
  });

  it('is needed where no name is known, and the report says so', async () => {
    expect(await told()).toMatchObject({ code: 2, err: expect.stringContaining('--metric reward=COLUMN') });
    const { out } = await told('reward=joy');
    expect(out).toMatch(/No\s+check\s+reads\s+words\.\s.*--metric\s+NAME=COLUMN/s);
  });

  it.each([
    [['rewrad=joy'], 'no check reads a metric rewrad; the nearest is reward'],
    [['reward=joy', 'kl=drift'], '--metric names drift, which m.jsonl does not have'],
    [['reward'], '--metric takes NAME=COLUMN, such as reward=score, not reward'],
    [['reward=joy', 'reward=words'], '--metric gives reward two columns'],
  ])('refuses %s', async (columns, message) => {
    expect(await told(...columns)).toMatchObject({ out: '', code: 2, err: expect.stringContaining(message) });
  });
});

describe('grpo doctor --json', () => {
  it('is one object with stable keys, findings first to last', async () => {
    const { out, err, code } = await doctor(constant, '.', '--json').ended;
    expect({ err, code }).toEqual({ err: '', code: 1 });
    expect(out.match(/\n/g)).toHaveLength(1);
    const told = JSON.parse(out) as Record<string, unknown[]>;
    expect(Object.keys(told)).toEqual([
      'path',
      'kind',
      'files',
      'records',
      'entries',
      'broken',
      'notes',
      'isGrpo',
      'outcome',
      'steps',
      'course',
      'findings',
      'judgements',
    ]);
    expect(told).toMatchObject({
      path: '.',
      records: 0,
      entries: 4,
      broken: { count: 0, first: [] },
      isGrpo: true,
      outcome: 'sick',
      steps: 4,
    });
    expect(told.files).toHaveLength(4);
    expect(told.findings![0]).toMatchObject({
      code: 'B20.log',
      fault: 'B20',
      severity: 'warn',
      level: 4,
      judged: 1,
      measured: { entries: 4, reward: 0.5, cut: 1, isFixed: true },
      evidence: [{ step: 1, text: 'reward', values: { value: 0.5 } }],
      name: 'reward input',
      proved: true,
      says: expect.stringMatching(/^The reward is 0\.5 in all 4 entries/),
    });
    expect(told.findings!.at(-1)).toMatchObject({
      code: 'B45.zero-log',
      inducedBy: { code: 'B20.log', sure: true },
      proved: false,
    });
    expect(told.judgements).toContainEqual(
      expect.objectContaining({ code: 'B52.log', verdict: 'pass', judged: 1 }),
    );
  });

  it('names numbers that JSON lacks', async () => {
    const rows = [1, 2, 3].map((step) => `{'loss': nan, 'reward': 0.${step}, 'step': ${step}}`).join('\n');
    const { out } = await doctor({ 'run.log': rows }, 'run.log', '--json').ended;
    const { findings } = JSON.parse(out) as { findings: { evidence: object[] }[] };
    expect(findings[0]!.evidence[0]).toEqual({ step: 1, text: 'loss', values: { value: 'NaN' } });
  });
});

describe('grpo doctor --explain', () => {
  const explain = (...argv: string[]) => call(folderOf({}), 'doctor', '--explain', ...argv);

  it.each(['B38', 'B38.repeat'])('prints the page of a fault: %s', async (code) => {
    const { out, err, code: exit } = await explain(code);
    expect({ err, exit }).toEqual({ err: '', exit: 0 });
    expect(out).toMatch(
      /^B38, scoring mode: The policy is scored with dropout\.\n\nB38\.repeat: Scoring twice /,
    );
    expect(out).toContain('  test         largest difference ≤ 1e-4 in float32, ≤ 0.05 in half precision\n');
    expect(out).toContain('  needs        probes\n');
    expect(out).toContain('  remedy       Put the policy into evaluation mode for scoring');
    expect(out).toContain(
      '  source       huggingface/trl#3500, huggingface/trl#3234, parity/trl_faults.py\n',
    );
    expect(out).toContain('  proved with  native, TRL run\n');
    expect(out).toMatch(/\nB38\.log: The KL is not negative on average\./);
  });

  it('has a page for every check, those of the audit included', async () => {
    for (const { code } of registry) expect(faultFor(code).checks.map((check) => check.code)).toContain(code);
    expect((await explain('H06.audit')).out).toMatch(/^H06, gradient: /);
  });

  it('says where a fault shows that no check finds', async () => {
    expect((await explain('B56')).out).toMatch(
      /^B56, data leaks: Data leaks, repeats, or is not what was configured\.\nSome forms of this fault show only in the configuration, before the run\.\n\nB56\.answers: /,
    );
  });

  it('is one object with --json', async () => {
    const { out } = await explain('B38.log', '--json');
    expect(JSON.parse(out)).toMatchObject({
      code: 'B38',
      name: 'scoring mode',
      checks: expect.arrayContaining([expect.objectContaining({ code: 'B38.log', proofs: ['log only'] })]),
    });
  });

  it.each([
    [['B99'], /Unknown code B99\. The nearest known code is B\d\d\.\n/],
    [['b38.repaet'], /Unknown code b38\.repaet\. The nearest known code is B38\.repeat\.\n/],
    [['B38', 'run.log'], /takes no path and no --html/],
    [['B38', '--html', 'page.html'], /takes no path and no --html/],
  ])('refuses %s', async (argv, message) => {
    const { out, err, code } = await explain(...argv);
    expect({ out, code }).toEqual({ out: '', code: 2 });
    expect(err).toMatch(message);
  });
});

describe('colours', () => {
  const ESCAPE = '\u001b[';
  it.each([
    ['are not written into a pipe', {}, false],
    ['are written where they are wanted', { FORCE_COLOR: '1' }, true],
    ['are not where they are unwanted', { NO_COLOR: '1' }, false],
  ])('%s', async (_, environment, coloured) => {
    for (const name of ['FORCE_COLOR', 'NO_COLOR', 'CI']) vi.stubEnv(name, undefined);
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const { out } = await grpo(folderOf(constant), 'doctor', '.');
    expect(out.includes(ESCAPE)).toBe(coloured);
  });
});

describe('texts out of a hostile run', () => {
  const attack =
    '\u001b[2J\u001b]0;owned\u0007</script><script>alert(1)</script><img src="http://evil/x" onerror=alert(2)>\u202e\u009b31m';
  const rows = cs336Completions({ keepsStop: false })
    .replaceAll('"response":"', `"response":${JSON.stringify(attack).slice(0, -1)}${'x'.repeat(100_000)}`)
    .replaceAll('format_reward', 'a\\u001b[31m_reward');
  const name = 'a\u001b[31m<b onclick=x>.jsonl';

  it('steer no terminal', async () => {
    const { out, code } = await doctor({ [name]: rows }, name).ended;
    expect(code).toBe(1);
    expect(out).toMatch(/32 of 32 completions open <answer>/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    expect(out.length).toBeLessThan(5000);
  });
});

describe('grpo doctor --html', () => {
  const startOf = (folder: string) =>
    /<div id="files" hidden(?: data-start="(.*?)")?>/.exec(
      readFileSync(join(folder, 'page.html'), 'utf8'),
    )![1];

  it('writes a page that holds the log, and opens at its findings', async () => {
    const { folder, ended } = doctor(
      { 'run.log': rookworldLog({ miss: () => -5 }) },
      'run.log',
      '--html',
      'page.html',
    );
    expect(await ended).toMatchObject({ code: 1, err: 'Page: page.html\n' });
    expect(startOf(folder)).toBe('#/run/%2Frun.log/findings');
    expect(readFileSync(join(folder, 'page.html'), 'utf8')).toContain('data-path="/run.log"');
  });

  it('writes one page of several runs, which opens at their list', async () => {
    const files = {
      'runs/a.log': rookworldLog({ miss: () => -5 }),
      'runs/b.log': rookworldLog({ miss: () => 0 }),
    };
    const { folder, ended } = doctor(files, 'runs', '--html', 'page.html');
    await ended;
    expect(startOf(folder)).toBe(undefined);
  });

  it('writes no page when nothing can be read', async () => {
    const { folder, ended } = doctor({ 'run.log': '' }, 'run.log', '--html', 'page.html');
    expect((await ended).code).toBe(2);
    expect(existsSync(join(folder, 'page.html'))).toBe(false);
  });
});
