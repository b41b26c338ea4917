import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { readStepRecord } from '../trace/index.js';
import { openRun } from './open-run.js';
import { resolvedRun } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';
import { trainGrpo } from './train-grpo.js';

/** Drift in step 2 of a run whose reward changes where a file comes to be after step 1. */
async function driftWith(comes: boolean) {
  const root = tempFolder();
  const [flag, module, output] = ['flag', 'reward.mjs', 'run'].map((name) => join(root, name));
  writeFileSync(
    module!,
    `import { existsSync } from 'node:fs';
     export default ({ completions }) =>
       completions.map((text) => (existsSync(${JSON.stringify(flag)}) ? -1 : text.length));`,
  );
  const settings = [
    `model=${await tinyModelFolder()}`,
    `rewards=[{module: ${module}}]`,
    ...['train.steps=2', 'train.canaries=0', 'eval.before=false', 'doctor.onFinding=warn'],
  ];
  await using session = await openRun(resolvedRun({ output: output!, settings }), {
    watcher: {
      step({ step }) {
        if (comes && step === 1) writeFileSync(flag!, '');
      },
    },
  });
  await trainGrpo(session);
  return readStepRecord(join(output!, 'steps', '000002')).probes?.drift?.at(-1);
}

it('grades completions of the first step again in a later one', async () => {
  expect(await driftWith(true)).toMatchObject({
    reward: 'reward',
    since: 1,
    graded: 2,
    changed: 2,
    earns: -1,
  });
  expect(await driftWith(false)).toMatchObject({ reward: 'reward', since: 1, graded: 2, changed: 0 });
});
