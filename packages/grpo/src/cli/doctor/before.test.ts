import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { grpo } from '../grpo.test.helper.js';

const CONFIG = `task: { name: arithmetic }
rollout: { prompts: 2, group: 4, maxNewTokens: 8 }
train: { steps: 50 }
threads: 1
`;

const before = (files: Readonly<Record<string, string>>, ...more: string[]) => {
  const folder = folderOf(files);
  return { folder, ended: grpo(folder, 'doctor', '--before', 'run.yaml', ...more) };
};

const leftOvers = () => readdirSync(tmpdir()).filter((name) => name.startsWith('grpo-before-'));

describe('grpo doctor --before', () => {
  it('does one step, says what it shows, and keeps nothing', async () => {
    const earlier = leftOvers();
    const { folder, ended } = before({ 'run.yaml': CONFIG });
    const { out, err } = await ended;
    for (const name of ['Prompts', 'Sampled', 'Rewards', 'Sampler', 'Update', 'Memory', 'Time'])
      expect(out, err).toMatch(new RegExp(`^${name} +\\S`, 'm'));
    expect(out).toMatch(/8 completions of \d+ to 8 tokens/);
    expect(out).toMatch(/50 steps take/);
    expect(readdirSync(folder)).toEqual(['run.yaml']);
    expect(leftOvers()).toEqual(earlier);
  });

  it('names what is wrong: exit code 1', async () => {
    const { out, err, code } = await before(
      {
        'run.yaml': `${CONFIG}rewards: [{ module: ./blanks.js }]\n`,
        'blanks.js':
          'export default ({ completions }) => console.log("hello") || completions.map((text) => (text.trim() === "" ? 9 : 0));\n',
      },
      '--json',
    ).ended;
    expect([code, err]).toEqual([1, expect.stringContaining('hello')]);
    const { findings } = JSON.parse(out) as { findings: { code: string }[] };
    expect(findings.map((finding) => finding.code)).toContain('B26.canary');
  });
});
