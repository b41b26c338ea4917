import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { remainsOf, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

const REPLAYED = ['groups.refills=1', 'groups.replay=4', 'objective.oldLogprobs=sampler'];
const SEVERAL = ['objective.oldLogprobs=recompute', 'objective.iterations=2', 'objective.minibatches=2'];
const MOVING = ['kl.beta=0.1', 'kl.referenceEvery=2', 'kl.referenceMix=0.5'];
const ADAPTERS = ['lora.rank=2'];
const HALF = ['dtype=bfloat16'];

/** All that training itself leaves: rows, weights, the optimizer, and the state of the last checkpoint. */
async function leftBy(settings: readonly string[], model: string) {
  const output = join(tempFolder(), 'run');
  await run({ output, settings: [`model=${model}`, 'eval.every=4', 'eval.limit=2', ...settings] });
  const { files: _, ...left } = remainsOf(output);
  return left;
}

it.each<[string, string[]]>([
  ['all weights', []],
  ['groups that give way', REPLAYED],
  ['several updates, half precision', [...SEVERAL, ...HALF]],
  ['a moving reference', [...MOVING, ...SEVERAL]],
  ['a moving reference, half precision', [...MOVING, ...HALF]],
  ['adapters', [...ADAPTERS, ...REPLAYED]],
  ['adapters and a moving reference, half precision', [...ADAPTERS, ...MOVING, 'kl.referenceMix=1', ...HALF]],
  [
    'a β and an entropy bonus that follow',
    ['kl.beta=0.1', 'kl.control=adaptive', 'kl.target=0.01', 'entropy.adaptive=true', 'entropy.target=0.8'],
  ],
])('preflight, checks and audits change nothing of a run: %s', async (_, settings) => {
  const model = await tinyModelFolder();
  const watched = await leftBy([...settings, 'doctor.every=1', 'record.every=1', 'train.canaries=1'], model);
  const alone = await leftBy(
    [...settings, 'doctor.every=0', 'doctor.onFinding=off', 'train.canaries=0'],
    model,
  );
  expect(watched).toEqual(alone);
});
