import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { trlRun } from '../../trace/trl-records.test.helper.js';
import { call, grpo } from '../grpo.test.helper.js';

const step = (...argv: string[]) => call('.', 'step', ...argv);

it('shows the last step of a run of TRL in ten phases', async () => {
  const { code, out } = await step(trlRun('clean'));
  expect(code).toBe(0);
  const heads = out.split('\n').flatMap((line) => /^ ?(\d+) [A-Z]/.exec(line)?.[1] ?? []);
  expect(heads).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
  expect(out).toContain('Step 3 of ');
  expect(out).toContain('signal in 3 of 4 groups');
  expect(out).toMatch(/^ +\d+ need a log of the run$/m);
  for (const line of out.split('\n').slice(2)) expect(line.length).toBeLessThanOrEqual(100);
});

it('marks the phase that is wrong, and ends with exit code 1', async () => {
  const { code, out } = await step(trlRun('dropout'), '--at', '1');
  expect(code).toBe(1);
  expect(out).toMatch(/^ 4 Advantage .* ok$/m);
  expect(out).toMatch(/^ 5 Log-prob .* FAIL$/m);
  expect(out).toContain('FAIL B38.repeat: ');
  expect(out).toMatch(/first in \d\.\d, token \d+/);
  expect(out).toMatch(/^10 Verdict {10}FAIL B38\.repeat, scoring mode$/m);
});

it('adds up what the completions add to the loss, and says what other terms make of it', async () => {
  const loop = fileURLToPath(
    new URL('../../../../../parity/fixtures/torch-loop/entropy-sign/', import.meta.url),
  );
  const { out } = await step(loop, '--show', 'loss');
  const [policy, kl] = /^ +all +(\S+) +(\S+)/m.exec(out)!.slice(1).map(Number) as [number, number];
  const [, loss, rest] = /The loss is (\S+): (\S+) of it is neither\.\n {2}The entropy bonus, 0\.01 ×/
    .exec(out)!
    .map(Number);
  expect(policy + kl + rest!).toBeCloseTo(loss!, 5);
  expect(rest).toBeGreaterThan(0);
  expect(out).toContain('(follows from B42.sign)');
  expect((await step(trlRun('clean'), '--show', 'loss')).out).not.toContain('is neither');
});

it('shows the tokens of a completion, and all of it as JSON', async () => {
  const shown = await step(trlRun('clean'), '--at', '2', '--completion', '1.2');
  expect(shown.out).toContain('Tokens of 1.2. sampler, policy, reference: log-probs in nats.');
  const { out } = await step(trlRun('clean'), '--at', '2', '--completion', '1.2', '--json');
  const json = JSON.parse(out);
  expect(json).toMatchObject({ step: 2, prompts: { length: 4 }, completions: { length: 16 } });
  expect(json.tokens).toHaveLength(json.completions[6].tokens);
  expect(json.tokens.at(-1).text).toBe('<|end|>');
  expect(shown.out).toMatch(/^ {2}token +id +text +sampler/m);
  expect(shown.out).toContain(' "<|end|>" ');
});

it.each([
  [[trlRun('clean'), '--at', '9'], 'has no record of step 9; it has those of 1–3'],
  [[trlRun('clean'), '--completion', '4.0'], 'there is no completion 4.0; the step has 0.0 to 3.3'],
  [[trlRun('clean'), '--prompt', '4'], 'there is no prompt 4; the step has 0 to 3'],
  [[trlRun('clean'), '--at', '1', '--at', '2'], '--at is given twice'],
  [[trlRun('clean'), '--against', trlRun('clean'), '--prompt', '1'], '--prompt shows one step'],
  [[trlRun('clean'), 'kl.beta'], 'grpo step takes one path, and kl.beta is a second'],
  [[trlRun('clean'), '--at', 'two'], "--at must be a whole number >= 0, found 'two'"],
  [[trlRun('clean'), '--show', 'everything'], '--show takes groups, tokens, loss, all, not everything'],
])('says what is wrong with %j', async (argv, message) => {
  const { code, err } = await step(...argv);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
});

it('names the first difference of two runs of TRL', async () => {
  const argv = [trlRun('clean'), '--at', '1', '--against', trlRun('dropout')];
  const { code, out } = await step(...argv);
  expect(code).toBe(1);
  expect(out).toMatch(
    /^First difference: phase 2, sample, sampled ids: \d+ of \d+ differ\. completion 0\.1, /,
  );
  expect(out).toContain('Equal before it: messages, texts of the prompts, ids of the prompts.');
  expect(await step(...argv.slice(0, 4), trlRun('clean'))).toMatchObject({ code: 0 });
  const later = await step(...argv.slice(0, 4), trlRun('clean'), '--at', '2', '--json');
  expect(JSON.parse(later.out).difference).toMatchObject({ phase: 'prompt' });
});

it('says that a log has no record of a step', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'step-'));
  const log = join(folder, 'log.jsonl');
  writeFileSync(log, '{"step": 1, "loss": 0.1, "reward": 0.5}\n{"step": 2, "loss": 0.1, "reward": 0.6}\n');
  const { code, err } = await step(log);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('has no step record') });
  expect(err).toContain('grpo doctor PATH');
  const runs = await step(dirname(trlRun('clean')));
  expect(runs).toMatchObject({
    code: 2,
    err: expect.stringMatching(/a folder of \d+ runs\n.*Name one of them: .+, /s),
  });
  rmSync(folder, { recursive: true });
});

it('replays a step of TRL with other settings, beside the record', async () => {
  const argv = [trlRun('clean'), '--at', '2', 'kl.beta=1', 'objective.loss=grpo', 'advantage.scale=none'];
  const { code, out } = await step(...argv, '--completion', '1.2');
  expect(code).toBe(0);
  expect(out).toContain('kl.beta=1 (recorded: 0.04)');
  expect(out).toContain('With its own settings the record gives the numbers that it holds');
  expect(out).toMatch(/^ {2}loss: β × KL +\+0\.\d+ +\+0\.\d+$/m);
  expect(out).toContain('Tokens of 1.2, recorded → replayed');
  const json = JSON.parse((await step(...argv, '--json')).out);
  const kl = (view: { loss: { components: { name: string; coefficient: number }[] } }) =>
    view.loss.components.find(({ name }) => name === 'kl')!.coefficient;
  expect([kl(json.recorded), kl(json.replayed)]).toEqual([0.04, 1]);
});

it.each([
  [['rollout.temperature=0.5'], 'a replay cannot change rollout.temperature'],
  [['kl.estimator=k9'], 'kl.estimator: expected'],
  [['kl.betta=1'], 'The nearest known key is kl.beta'],
  [['kl.estimator=full'], 'it lacks the KL over the whole vocabulary'],
  [['kl.beta=1', '--against', trlRun('clean')], 'settings do not go with --against'],
])('says what is wrong with a replay with %j', async (argv, message) => {
  const { code, err } = await step(trlRun('clean'), ...argv);
  expect({ code, err }).toEqual({ code: expect.toBeOneOf([1, 2]), err: expect.stringContaining(message) });
});

it('takes one step of a configuration, and shows what it did to the answers to its own prompts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'step-'));
  const file = join(folder, 'run.yaml');
  const output = join(folder, 'run');
  const rollout = 'rollout: { prompts: 3, group: 2, maxNewTokens: 4 }';
  writeFileSync(file, `task: { name: arithmetic }\n${rollout}\noptimizer: { learningRate: 1e-3 }\n`);
  const { code, out, err } = await grpo('.', 'step', '--config', file, `output=${output}`, 'kl.beta=0.1');
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('step 1/1') });
  expect(out).toMatch(/^ 9 Before and after the same 3 prompts before the step and after it$/m);
  expect(out).toMatch(/^ +greedy: accuracy 0\.\d+ → 0\.\d+, paired [+-]?0\.\d+/m);
  const again = await step(output, 'kl.estimator=k1');
  expect(again.out).toContain(`Step 1 of ${output}, replayed with kl.estimator=k1 (recorded: k3)`);
  rmSync(folder, { recursive: true });
});

it.each([
  [['--config', 'run.yaml', 'runs/a'], '--config takes a new step: runs/a does not go with it'],
  [['--config', 'run.yaml', '--at', '2'], '--config takes a new step: --at does not go with it'],
])('says what is wrong with %j', async (argv, message) => {
  const { code, err } = await step(...argv);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
});

it('writes a page of the step that was asked for, with its files alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'grpo-step-'));
  try {
    const page = join(folder, 'page.html');
    const { code, err } = await step(trlRun('clean'), '--at', '2', '--html', page);
    expect({ code, err }).toEqual({ code: 0, err: `Page: ${page}\n` });
    const text = readFileSync(page, 'utf8');
    expect(/data-start="(.*?)"/.exec(text)![1]).toMatch(/^#\/run\/%2F[^/]+\/step\/2$/);
    const paths = [...text.matchAll(/data-path="(.*?)"/g)].map(([, path]) => path);
    expect(paths.every((path) => /2\/step\.(json|safetensors)$/.test(path!))).toBe(true);
    expect(paths).toHaveLength(2);
    const other = await step(trlRun('clean'), '--html', page, '--against', trlRun('dropout'));
    expect(other.err).toContain('--html shows one step');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
