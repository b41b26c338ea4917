// How far the sampler's log-probs are from the trainer's, per token: node bench/gap.mjs [--only tiny] [--steps 3]
// Sampler and trainer share weights and decoder, but not the shapes of their operators: the sampler decodes a batch token
// by token over a cache, the trainer computes whole sequences, packed. Prints the table of docs/performance.md. Its last
// columns are two ways to a gap of 0: old log-probs that the trainer computes itself, in the same micro-batches, and a
// sampler without cache that computes each sequence alone.

import { parseArgs } from 'node:util';
import { benchTrainer, problemsOf } from '../packages/grpo/dist/lab/bench/bench-trainer.js';
import { packSegments } from '../packages/grpo/dist/models/index.js';
import { recordStep } from '../packages/grpo/dist/observe/record-step.js';
import { noGrad, setThreads, tensor, tidy } from '../packages/torch/dist/index.js';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'tiny,gpt2-124m' },
    steps: { type: 'string', default: '3' },
    prompts: { type: 'string', default: '4' },
    group: { type: 'string', default: '4' },
    'prompt-len': { type: 'string', default: '64' },
    'completion-len': { type: 'string', default: '64' },
    threads: { type: 'string', default: '0' },
  },
});
const number = (key) => Number(options[key]);
if (number('threads') > 0) setThreads(number('threads'));

/** Rows of a product that round alike however many there are: the kernels take rows sixteen by sixteen. */
const ROWS = 16;

/** Log-probs of a sequence's tokens from `from` on, by one pass over it alone, filled up to a whole number of ROWS. */
function aloneLogprobs({ decoder }, ids, from) {
  const filled = [...ids, ...Array(-ids.length & (ROWS - 1)).fill(0)];
  return noGrad(() =>
    tidy(() => {
      const packed = packSegments([{ ids: filled }], decoder.config, decoder.device);
      const all_LV = decoder.logits(decoder.hidden(packed, packed.attend)).logSoftmax(-1);
      const targets = tensor(ids.slice(from), [ids.length - from, 1], {
        dtype: 'int64',
        device: decoder.device,
      });
      return all_LV
        .narrow(0, from - 1, ids.length - from)
        .gather(1, targets)
        .toNumbers();
    }),
  );
}

/** Sampling without a cache against scoring, each sequence alone: the largest difference of one completion's tokens. */
function rowByRowGap(model, prompt, completion) {
  const ids = [...prompt, ...completion];
  const scored = aloneLogprobs(model, ids, prompt.length);
  const distances = scored.map((logprob, t) => {
    const end = prompt.length + t + 1;
    return Math.abs(logprob - aloneLogprobs(model, ids.slice(0, end), end - 1)[0]);
  });
  return Math.max(...distances);
}

async function measure(model, bf16) {
  const work = {
    model,
    bf16,
    promptLength: number('prompt-len'),
    completionLength: number('completion-len'),
    group: number('group'),
    prompts: number('prompts'),
    steps: number('steps'),
    beta: 0,
    micro: 0,
    threads: 0,
    randomLengths: true,
    device: 'cpu',
  };
  const trainer = await benchTrainer(work);
  const { config } = trainer;
  // The ratio of the first update is then that of two passes of the trainer over the same tokens.
  const recomputing = {
    ...trainer,
    config: { ...config, objective: { ...config.objective, oldLogprobs: 'recompute' } },
  };
  let [sum, most, recomputed, tokens, last] = [0, 0, 0, 0];
  for (let step = 0; step < work.steps; step++) {
    last = await recordStep(recomputing, problemsOf(step, work), step, 1e-6);
    const { metrics, updates, batch } = last;
    const count = batch.completions_B.reduce((total, { ids }) => total + ids.length, 0);
    sum += metrics['sampling/sampling_logp_difference/mean'] * count;
    tokens += count;
    most = Math.max(most, metrics['sampling/sampling_logp_difference/max']);
    recomputed = Math.max(recomputed, ...updates[0].ratios.map((ratio) => Math.abs(Math.log(ratio))));
  }
  const [{ ids }] = last.batch.completions_B;
  const alone = rowByRowGap(trainer.model, last.batch.prompts[0].ids, ids);
  trainer[Symbol.dispose]();
  return [
    model,
    bf16 ? 'bf16' : 'fp32',
    tokens,
    ...[sum / tokens, most, recomputed, alone].map((x) => x.toExponential(1)),
  ];
}

console.log(
  '| model | precision | tokens | mean gap | largest gap | old log-probs recomputed | each sequence alone, no cache |',
);
console.log(`|${' --- |'.repeat(7)}`);
for (const model of options.only.split(','))
  for (const bf16 of [false, true]) console.log(`| ${(await measure(model, bf16)).join(' | ')} |`);
