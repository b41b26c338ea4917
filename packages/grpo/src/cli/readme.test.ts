import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { folderOf, tempFolder } from '../formats/temp-folder.test.helper.js';
import { parseArguments } from './arguments.js';
import { call } from './grpo.test.helper.js';
import { commands } from './table.js';

const page = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const README = page('README.md');
const YAML = /^Write `gsm8k\.yaml`.*?^```yaml\n(.*?)^```$/ms.exec(README)![1]!;
const LINES = [README, page('docs/training.md')].flatMap((text) =>
  [...text.matchAll(/^npx grpo (.*--config gsm8k\.yaml[^#\n]*)/gm)].map(([, line]) => line!.trim()),
);

describe('in the README and docs/training.md', () => {
  it.each(LINES)('grpo %s fits the gsm8k.yaml that is written in the README', (line) => {
    const file = join(tempFolder(), 'gsm8k.yaml');
    writeFileSync(file, YAML);
    const command = commands.find(({ name }) => line.startsWith(`${name} `))!;
    const words = line.slice(command.name.length).match(/'[^']*'|\S+/g)!;
    const argv = words.map((word) => word.replaceAll("'", ''));
    const { flags, settings } = parseArguments(command, argv);
    const own = flags.preset === undefined ? settings : [...settings, `preset=${String(flags.preset)}`];
    expect(() => resolveConfig({ command: command.keys!, file, settings: own, env: {} })).not.toThrow();
  });

  it('several commands take that file', () => {
    expect(LINES.length).toBeGreaterThan(8);
  });
});

it('the report in the README is what the doctor says of such a run', async () => {
  const log_history = Array.from({ length: 40 }, (_, i) => ({
    step: i + 1,
    loss: 0,
    grad_norm: 0,
    reward: 0.5,
    reward_std: 0,
    'completions/mean_length': 80 + ((7 * i) % 13),
    'completions/clipped_ratio': 0,
  }));
  const folder = folderOf({ 'trainer_state.json': JSON.stringify({ global_step: 40, log_history }) });
  const { out } = await call(folder, 'doctor', 'trainer_state.json');
  expect(out).toContain(/^```\n(trainer_state\.json: .*?)^```$/ms.exec(README)![1]!);
});
