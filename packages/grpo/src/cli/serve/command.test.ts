import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeTinyModel } from '../../library/tiny-model.js';
import { grpo, start } from '../grpo.test.helper.js';

const dir = mkdtempSync(join(tmpdir(), 'grpo-serve-'));
beforeAll(() => writeTinyModel(join(dir, 'tiny')).then(() => {}));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('grpo serve', () => {
  it('says what it serves and where, answers, and ends with Ctrl-C', async () => {
    const running = start(dir, ['serve', 'tiny', '--port', '0', '--max-model-len', '100', 'threads=1']);
    let out = '';
    running.child.stdout!.on('data', (text: string) => (out += text));
    await running.says('Ctrl-C ends it.');
    const url = /^Serving tiny \(float32, 100 tokens, 1 thread\) at (http:\S+)\/v1$/m.exec(out)![1]!;
    expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({
      data: [{ id: 'tiny', max_model_len: 100 }],
    });
    const body = JSON.stringify({ prompt: 'a', max_tokens: 3 });
    const answer = await fetch(`${url}/v1/completions`, { method: 'POST', body });
    expect(((await answer.json()) as { choices: unknown[] }).choices).toHaveLength(1);
    running.child.kill('SIGINT');
    const { code, err } = await running.ended;
    expect(code).toBe(130);
    expect(err).toMatch(/^Device: cpu .*\nLoading tiny …\n/);
    expect(err).toContain('Interrupted: ending the requests.');
  });

  it.each<[string[], number, string]>([
    [[], 2, 'grpo serve needs one model'],
    [['a', 'b'], 2, 'grpo serve needs one model'],
    [['tiny', '--port', 'x'], 2, "--port must be a whole number from 0 to 65535, found 'x'"],
    [['tiny', '--host', '0.0.0.0'], 2, 'lets other machines in, and there is no key'],
    [['tiny', '--api-key', ''], 2, 'The key is empty'],
    [['tiny', '--api-key', 'a', '--without-key'], 2, 'take one of the two away'],
    [['tiny', '--weights-from', 'nowhere'], 1, 'cannot read nowhere'],
    [['tiny', '--max-model-len', '1'], 2, "--max-model-len must be a whole number >= 2, found '1'"],
    [['tiny', 'memory=100MB'], 1, 'one sequence of 1024 tokens needs'],
    [['tiny', 'rollout.topP=0.5'], 2, 'does not read rollout.topP'],
    [['absent'], 1, 'absent'],
  ])('refuses %j', async (argv, code, message) => {
    const ended = await grpo(dir, 'serve', ...argv);
    expect(ended.err).toContain(message);
    expect(ended.code).toBe(code);
  });
});
