import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../formats/temp-folder.test.helper.js';
import { compareTrl } from './compare-trl.js';
import { trlPage } from './trl-page.js';
import { readTrl } from './trl-tree.js';

interface Parts {
  temperature?: boolean;
  beta?: string;
  unused?: string;
  logps?: string;
  comment?: string;
}

/** A package in the layout of TRL. */
function packageOf({
  temperature = true,
  beta = '0.0',
  unused = '1',
  logps = '_logps_and_entropies',
  comment = 'One',
}: Parts = {}): string {
  const folder = join(tempFolder(), 'site-packages');
  const write = (name: string, text: string) => {
    mkdirSync(join(folder, 'trl', name, '..'), { recursive: true });
    writeFileSync(join(folder, 'trl', name), text);
  };
  write('__init__.py', '__version__ = "9.9"\n');
  write(
    'trainer/grpo_trainer.py',
    `from .utils import pad, select

class GRPOTrainer(Trainer):
    def compute_loss(self, model):
        # ${comment}
        return self.${logps}(pad(model)).sum()

    def ${logps}(self, logits):
${temperature ? '        logits = logits / self.temperature\n' : ''}        return select(logits)

    def save(self):
        return ${unused}
`,
  );
  write(
    'trainer/utils.py',
    'def pad(x):\n    return x\n\ndef select(x):\n    return x\n\ndef other():\n    pass\n',
  );
  write('trainer/base_config.py', 'class _Base(Arguments):\n    bf16: bool = field(default=True)\n');
  write('trainer/grpo_config.py', `class GRPOConfig(_Base):\n    beta: float = field(default=${beta})\n`);
  return folder;
}

const compared = (a: Parts, b: Parts = {}) => compareTrl(readTrl(packageOf(a)), readTrl(packageOf(b)));

describe('two versions of TRL', () => {
  it('are alike in all that a step calls, whatever else and comments say', () => {
    const found = compared({ unused: '2', comment: 'Another' });
    expect(found).toMatchObject({ a: 'TRL 9.9', alike: 4, functions: [], defaults: [], known: [] });
    expect(trlPage(found, 80)).toMatch(/all 4\sfunctions/);
  });

  it('differ in a default, and what it does is said', () => {
    const found = compared({ beta: '0.04' });
    expect(found.defaults).toMatchObject([
      { name: 'beta', a: '0.04', b: '0.0', known: expect.stringMatching(/no reference/) },
    ]);
    expect(trlPage(found, 80)).toMatch(/beta {2}0\.04 → 0\.0\n.*no reference model/);
  });

  it('differ in a function, with what is known of it', () => {
    const found = compared({ temperature: false });
    expect(found.functions).toMatchObject([
      { name: 'GRPOTrainer._logps_and_entropies', added: 1, removed: 0 },
    ]);
    expect(found.functions[0]!.patch).toContain('\n+    logits = logits / self.temperature\n');
    expect(found.known).toEqual([{ in: 'b', says: expect.stringContaining('temperature') }]);
    expect(trlPage(found, 80)).toContain('TRL 9.9 (B) divides the logits');
  });

  it('have a renamed function in one place', () => {
    const { functions } = compared({ logps: '_logps' });
    expect(functions.map(({ name }) => name)).toEqual([
      'GRPOTrainer._logps → GRPOTrainer._logps_and_entropies',
      'GRPOTrainer.compute_loss',
    ]);
  });

  it('are found in site-packages and in the package, and missed elsewhere', () => {
    const folder = packageOf();
    expect(readTrl(join(folder, 'trl')).code.size).toBe(readTrl(folder).code.size);
    expect(() => readTrl(tempFolder())).toThrow(/holds no TRL/);
  });
});
