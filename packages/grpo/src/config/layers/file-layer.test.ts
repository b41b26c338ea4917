import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../errors/user-error.js';
import { fuzz, mutateBytes, replaceFile } from '../../formats/mutate.test.helper.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { resolveConfig } from '../resolve.js';
import { fileLayer, yamlLayer } from './file-layer.js';

const COUNT = Number(process.env.GRPO_FUZZ ?? 2000);

const GOOD = `# a run
model: models/tiny
seed: 7
rewards:
  - module: brief.ts
    weight: 0.5
task: { data: "train.jsonl", stop: [a, 'b'] }
rollout:
  prompts: &four 4
  group: *four
  temperature: 1.0e+0
train:
  steps: 10
`;

function refusal(content: string | Uint8Array): string {
  const path = join(tempFolder(), 'run.yaml');
  writeFileSync(path, content);
  try {
    fileLayer(path);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as Error).message.replace(path, 'run.yaml');
  }
  throw new Error('the file was read');
}

describe('a configuration file', () => {
  it.each([
    ['nested flow', `rewards: ${'['.repeat(30_000)}`, /^run\.yaml:1: nested too deeply/],
    ['nested blocks', `\na:\n${'- '.repeat(30_000)}`, /^run\.yaml:3: nested too deeply/],
    ['two keys', 'seed: 1\nseed: 2\n', /^run\.yaml:2: not valid YAML\. Map keys must be unique/],
    ['a tab', 'task:\n\tdata: x\n', /^run\.yaml:2: not valid YAML\. Tabs are not allowed/],
    ['a list', '- seed: 1\n', /^run\.yaml:1: expected keys with values/],
    ['text', 'seed', /^run\.yaml:1: expected keys with values/],
    ['two documents', 'seed: 1\n---\nseed: 2\n', /not valid YAML\. Source contains multiple documents/],
    ['a tag of code', 'model: !!js/function "x"\n', /^run\.yaml:1: not valid YAML\. Unresolved tag/],
    ['an unknown alias', 'model: *x\n', /^run\.yaml:1: not valid YAML\. Unresolved alias/],
    [
      'Latin 1',
      Buffer.from('seed: 1\nmodel: caf\xe9\n', 'latin1'),
      /^run\.yaml: .*not valid UTF-8: line 2, byte 11 is 0xe9/,
    ],
    [
      'UTF-16',
      Buffer.from('\uFEFFseed: 1\n', 'utf16le'),
      /^run\.yaml: this is UTF-16 text; save it as UTF-8/,
    ],
    ['gzip', Buffer.of(0x1f, 0x8b, 8, 0), /^run\.yaml: this is a gzip file; unpack it first/],
    ['a control character', 'model: "\x1b[31m', /^run\.yaml:1: not valid YAML\. [^\p{Cc}]*$/u],
  ])('with %s is refused with its line', (_, content, message) => {
    expect(refusal(content)).toMatch(message);
  });

  it('with a bomb of aliases is refused', () => {
    const levels = Array.from({ length: 12 }, (_, i) => `- &l${i + 1} [${`*l${i}, `.repeat(9)}x]`);
    const bomb = `rewards:\n- &l0 x\n${levels.join('\n')}\n`;
    expect(refusal(bomb)).toMatch(
      /^run\.yaml:1: not valid YAML\. Excessive alias count.*\. Write the values out\./,
    );
  });

  it.each(['__proto__', 'constructor', 'toString'])(
    'with the key %s is refused, and changes nothing',
    (key) => {
      const { problems, entries } = yamlLayer(`${key}:\n  polluted: 1\ntask:\n  ${key}: 1\n`, 'run.yaml');
      expect(problems).toHaveLength(2);
      expect(problems[0]).toContain(`Unknown key ${key} (run.yaml:1)`);
      expect(entries.size).toBe(0);
      expect(Object.keys(Object.prototype)).toEqual([]);
      const nested = {
        command: 'train',
        settings: [`rewards=[{module: a.ts, ${key}: {polluted: 1}}]`],
      } as const;
      expect(() => resolveConfig(nested)).toThrow(`rewards.0.${key}`);
    },
  );

  it('that is far too large, or no file, is refused unread', () => {
    const folder = tempFolder();
    const large = join(folder, 'large.yaml');
    writeFileSync(large, '');
    truncateSync(large, 2 ** 30);
    expect(() => fileLayer(large)).toThrow(
      /the configuration file has 1\.1 GB, more than the 66 kB that are read/,
    );
    mkdirSync(join(folder, 'x'));
    expect(() => fileLayer(join(folder, 'x'))).toThrow(/it is a folder, a file is expected/);
    symlinkSync('circle', join(folder, 'circle'));
    expect(() => fileLayer(join(folder, 'circle'))).toThrow(/symbolic links go in a circle.*\(ELOOP\)/);
  });

  it('may have a byte order mark and anchors', () => {
    const layer = yamlLayer(GOOD, 'run.yaml');
    expect(layer.problems).toEqual([]);
    expect(layer.entries.get('rollout.group')).toMatchObject({ value: 4, source: 'run.yaml:10' });
    const path = join(tempFolder(), 'run.yaml');
    writeFileSync(path, `\uFEFF${GOOD}`);
    expect(fileLayer(path).entries.get('seed')?.value).toBe(7);
  });

  it(`${COUNT} times damaged, is refused in words or read`, () => {
    const path = join(tempFolder(), 'run.yaml');
    const { refused, loaded } = fuzz(
      COUNT,
      (dice) => {
        replaceFile(path, mutateBytes(dice, Buffer.from(GOOD)));
        return resolveConfig({ command: 'train', file: path });
      },
      ({ config }) => expect(config.rollout.group).toBeGreaterThanOrEqual(2),
    );
    expect(refused).toBeGreaterThan(COUNT / 10);
    expect(loaded).toBeGreaterThan(COUNT / 100);
  });
});
