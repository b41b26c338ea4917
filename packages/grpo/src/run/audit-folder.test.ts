import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

/** What ends a run that is audited at each step, in whose folder something happens after step 3. */
async function stopOf(meddle?: (output: string) => void): Promise<object | undefined> {
  const output = join(tempFolder(), 'run');
  const { end } = await run({
    output,
    settings: [
      `model=${await tinyModelFolder()}`,
      ...['train.canaries=0', 'doctor.every=1', 'doctor.onFinding=stop', 'train.steps=5'],
    ],
    onStep: (step) => (step === 3 ? meddle?.(output) : undefined),
  });
  return end.stopped && { code: end.stopped.code, ...end.stopped.measured };
}

it('the folder of a run that writes alone agrees with it', async () => {
  expect(await stopOf()).toBeUndefined();
});

it.each<[string, object, (output: string) => void]>([
  [
    'a step twice in a file',
    { found: 'step 3: 2', plain: 'step 3: 1' },
    (output) => {
      const file = join(output, 'metrics.jsonl');
      appendFileSync(file, `${readFileSync(file, 'utf8').trim().split('\n').at(-1)}\n`);
    },
  ],
  [
    'rows of another run',
    { found: 'step 40: 1', plain: 'step 40: 0' },
    (output) => appendFileSync(join(output, 'metrics.jsonl'), '{"step":40,"num_tokens":7}\n'),
  ],
  [
    'rows that are lost',
    { found: 'step 1: 0', plain: 'step 1: 1' },
    (output) => {
      const file = join(output, 'metrics.jsonl');
      writeFileSync(file, readFileSync(file, 'utf8').split('\n').slice(1).join('\n'));
    },
  ],
  [
    'completions of another step',
    { quantity: 'step of the last row in completions.jsonl', found: 4, plain: 3 },
    (output) => appendFileSync(join(output, 'completions.jsonl'), '{"step":4}\n'),
  ],
  [
    'another process that takes the folder',
    { quantity: 'process that has the folder' },
    (output) => {
      const file = join(output, 'run.lock');
      const owner = JSON.parse(readFileSync(file, 'utf8')) as object;
      writeFileSync(file, JSON.stringify({ ...owner, pid: 1, since: '2026-01-01T00:00:00.000Z' }));
    },
  ],
])('%s ends it', async (_, found, meddle) => {
  expect(await stopOf(meddle)).toMatchObject({ code: 'H10.audit', ...found });
});
