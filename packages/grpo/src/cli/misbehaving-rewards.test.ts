import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { grpo } from './grpo.test.helper.js';

const dir = sharedFolder();
/** Runs four steps whose reward does something else when it is asked for the `at`-th time: the fifth is an evaluation. */
async function trainWith(name: string, deed: string, { more = '', at = 3, onFinding = 'off' } = {}) {
  const source = `
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const later = (act) => setTimeout(act, 0);
    let asked = 0;
    export default async ({ completions }) => {
      const values = completions.map((_, i) => i);
      if (++asked === ${at}) { ${deed} }
      return values;
    };`;
  writeFileSync(join(dir, `${name}.js`), source);
  const settings = [
    ...['task.name=arithmetic', 'rollout.prompts=2', 'rollout.group=2', 'rollout.maxNewTokens=4'],
    ...['train.steps=4', 'train.canaries=0', 'eval.before=false', 'eval.limit=1', 'threads=1'],
    ...[`doctor.onFinding=${onFinding}`, `rewards=[{module: ${name}.js${more}}]`, `output=${name}`],
  ];
  const run = await grpo(dir, 'train', ...settings, '--json');
  const saved = join(dir, name, 'checkpoints');
  return { ...run, saved: existsSync(saved) ? readdirSync(saved) : undefined };
}

describe('a run whose reward', () => {
  it.each<[does: string, name: string, deed: string, message: RegExp, more?: string]>([
    [
      'calls process.exit',
      'exits',
      'process.exit(0)',
      /reward exits.*: threw Error: called process\.exit\(0\).*exits\.js:7/,
    ],
    [
      'calls process.exit later',
      'exits-later',
      'later(() => process.exit(0)); await sleep(1000)',
      /thrown and not caught, while an answer of reward exits-later was awaited: threw Error: called process\.exit\(0\).*exits-later\.js:7/,
    ],
    [
      'never answers',
      'silent',
      'await new Promise(() => {})',
      /reward silent.*: returned a promise that nothing can settle any more/,
    ],
    [
      'leaves a rejection to nobody',
      'strays',
      'Promise.reject(new Error("lost")); await sleep(1000)',
      /a promise that nobody awaits was rejected, while an answer of reward strays was awaited: threw Error: lost .*strays\.js:7/,
    ],
    [
      'exits in its worker',
      'worker-exits',
      'process.exit(0)',
      /reward worker-exits.*: ended its thread with exit code 0/,
      ', timeoutSeconds: 60',
    ],
    [
      'leaves a rejection in its worker',
      'worker-strays',
      'Promise.reject(new Error("lost")); await sleep(1000)',
      /reward worker-strays.*: stopped its thread: Error: lost/,
      ', timeoutSeconds: 60',
    ],
  ])('%s ends with its name, and is saved', async (_, name, deed, message, more) => {
    const { code, err, saved } = await trainWith(name, deed, { more });
    expect(code).toBe(1);
    expect(err).toMatch(message);
    expect(err).toContain(`To go on, once that is mended: npx grpo train --resume ${name}`);
    expect(saved).toEqual(['step-2-error']);
  });

  it.each([
    ['an error', 'leaves', 'later(() => { throw new Error("too late") })', 'too late'],
    ['process.exit', 'leaves-exit', 'later(() => process.exit(0))', 'called process.exit(0), which'],
  ])(
    'leaves %s behind after its answer ends after that step, which is saved',
    async (_, name, deed, says) => {
      const { code, err, saved } = await trainWith(name, deed);
      expect([code, saved]).toEqual([1, ['step-3-error']]);
      expect(err).toContain(`an error was thrown and not caught: threw Error: ${says}`);
      expect(err).toContain(`${name}.js:7`);
    },
  );

  const LOST = 'Promise.reject(new Error("lost"))';

  it('never answers, however often it is asked, ends with its name', async () => {
    // After a batch without an answer each completion is graded by itself.
    const deed = 'asked--; await new Promise(() => {})';
    const { code, err, saved } = await trainWith('mute', deed, { at: 1, onFinding: 'stop' });
    expect([code, saved]).toEqual([1, undefined]);
    expect(err).toMatch(/reward mute.*: returned a promise that nothing can settle any more/);
  });

  it('leaves one behind in the preflight ends before a run is there', async () => {
    const { code, err, saved } = await trainWith('early', LOST, { at: 1, onFinding: 'stop' });
    expect([code, saved]).toEqual([1, undefined]);
    expect(err).toMatch(/a promise that nobody awaits was rejected: threw Error: lost .*early\.js:7/);
  });

  it('leaves one behind in the last evaluation ends with it, and the run is saved', async () => {
    const { code, err, saved } = await trainWith('last', LOST, { at: 5 });
    expect([code, saved]).toEqual([1, ['step-4']]);
    expect(err).toMatch(/a promise that nobody awaits was rejected: threw Error: lost .*last\.js:7/);
  });

  it.each(['', ', timeoutSeconds: 60'])('prints leaves --json clean%s', async (more) => {
    const name = `prints${more.length}`;
    const deed = 'console.log("hello"); process.stdout.write("hello\\n"); await sleep(20)';
    const { code, out, err } = await trainWith(name, deed, { more });
    expect(code, err).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { step?: number }).step)).toEqual([
      1,
      2,
      3,
      4,
      undefined,
    ]);
    expect(err).toContain('hello\nhello\n');
  });

  it('fails after the end of the run', async () => {
    const { code, err, saved } = await trainWith(
      'late',
      "setInterval(() => { throw new Error('too late'); }, 4000).unref(); setTimeout(() => {}, 9000)",
      { at: 5 },
    );
    expect(err.match(/^grpo: .*$/gm)).toEqual([
      expect.stringMatching(
        /^grpo: all is done and saved, but code that was still running threw Error: too late \(.*late\.js:7:\d+\)$/,
      ),
    ]);
    expect(code).toBe(1);
    expect(saved).toEqual(['step-4']);
  });
});
