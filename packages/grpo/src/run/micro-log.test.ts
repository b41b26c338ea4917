import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

const NUMBER = /-?\d+\.\d{6}/g;

it('prints the stages and the parts of the loss of each micro-batch', async () => {
  const settings = [
    `model=${await tinyModelFolder()}`,
    'train.log=micro',
    'train.steps=1',
    'train.microBatchTokens=12',
    'kl.beta=0.1',
    'entropy.coefficient=0.01',
    'eval.before=false',
  ];
  const { rows, notes } = await run({ output: join(tempFolder(), 'run'), settings });
  const lines = notes.filter((text) => /^\[Micro|^5\./.test(text));
  const shape = lines.map((text) => text.replace(/\d+ MB/, 'M MB').replace(/\d+\.\d{3}s/, 'Ts'));
  expect(shape.map((text) => text.replace(NUMBER, 'N'))).toEqual([
    '[Micro 0] 2. Samples generated: mem=M MB, time=Ts',
    expect.stringMatching(/^\[Micro 0] 3\. Samples scored: mem=M MB, time=Ts, rewards=\d\.\d{4}±\d\.\d{4}$/),
    '[Micro 0] Reference log-probs computed: mem=M MB, time=Ts',
    '[Micro 0] Reference log-probs computed: mem=M MB, time=Ts',
    '[Micro 0] Samples audited: mem=M MB, time=Ts',
    '[Micro 0] 4. Loss computed: mem=M MB, time=Ts, pg_loss=N, kl=N, entropy=N, total=N',
    '[Micro 1] 4. Loss computed: mem=M MB, time=Ts, pg_loss=N, kl=N, entropy=N, total=N',
    '5. Optimizer step finished: mem=M MB, time=Ts total',
  ]);
  const losses = lines
    .flatMap((text) => [text.match(NUMBER)?.map(Number) ?? []])
    .filter((of) => of.length > 0);
  for (const [policy, kl, entropy, total] of losses) expect(policy! + kl! + entropy!).toBeCloseTo(total!, 5);
  expect(losses.reduce((sum, parts) => sum + parts.at(-1)!, 0)).toBeCloseTo(rows[0]!.loss!, 5);
  const seconds = lines.map((text) => Number(/time=([\d.]+)s/.exec(text)![1]));
  expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
});
