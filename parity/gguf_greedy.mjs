/**
 * Greedy completions of a trained model of arithmetic, by llama.cpp from its GGUF file and by us: equal up to the first near
 * tie, whose distance is printed. DIR is that of gguf.mjs; MODEL is a checkpoint of `npm run demo`.
 *
 *     node parity/gguf_greedy.mjs DIR MODEL      after `npm run build`; prints one line a type
 */
import { join } from 'node:path';
import { exportGguf, exportTypes } from '../packages/grpo/dist/export/index.js';
import { loadModel, openModelFolder, packSegments } from '../packages/grpo/dist/models/index.js';
import { noGrad, tidy } from '../packages/torch/dist/index.js';
import { openLlama } from './gguf_models.mjs';

const [root, folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: node parity/gguf_greedy.mjs DIR MODEL');
const llama = await openLlama(root);
const { decoder, tokenizer, endIds } = loadModel(folder);
const MOST = 40;

/** Log-probs after a text. */
function logprobsAfter(ids) {
  return noGrad(() =>
    tidy(() => {
      const packed = packSegments([{ ids }], decoder.config, 'cpu');
      const last = decoder.hidden(packed, packed.attend).narrow(0, ids.length - 1, 1);
      return decoder.logits(last).logSoftmax(-1).toTypedArray();
    }),
  );
}

function complete(prompt) {
  const ids = [];
  while (ids.length < MOST) {
    const logprobs = logprobsAfter([...prompt, ...ids]);
    const best = logprobs.indexOf(Math.max(...logprobs));
    if (endIds.has(best)) break;
    ids.push(best);
  }
  return ids;
}

const prompts = Array.from(
  { length: 200 },
  (_, i) => `${10 + ((37 * i) % 90)}+${10 + ((53 * i + 11) % 90)}=`,
);
const ours = prompts.map((text) => complete(tokenizer.encode(text)));
for (const type of exportTypes) {
  const path = join(root, `greedy-${type}.gguf`);
  exportGguf(openModelFolder(folder), path, { type });
  const model = await llama.loadModel({ modelPath: path });
  const context = await model.createContext({ sequences: 1, threads: 1 });
  const sequence = context.getSequence();
  let equal = 0;
  const ties = [];
  for (const [i, text] of prompts.entries()) {
    await sequence.clearHistory();
    const prompt = [...model.tokenize(text, true)];
    const ids = [];
    for await (const id of sequence.evaluate(prompt, { temperature: 0 })) {
      if (model.isEogToken(id) || ids.length === MOST) break;
      ids.push(id);
    }
    const at = Array.from({ length: MOST }, (_, t) => t).find((t) => ids[t] !== ours[i][t]);
    if (at === undefined) equal++;
    else {
      const [first, second] = [...logprobsAfter([...prompt, ...ours[i].slice(0, at)])].sort((a, b) => b - a);
      ties.push(first - second);
    }
  }
  const widest =
    ties.length === 0
      ? ''
      : `; the others differ from a near tie on, of at most ${Math.max(...ties).toFixed(4)} in log-prob`;
  console.log(`${type}: ${equal} of ${prompts.length} completions equal${widest}`);
  await model.dispose();
}
process.exit();
