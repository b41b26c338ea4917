// How long the drawing of a token takes, for 64 rows of a vocabulary of 151,936: node bench/drawing.mjs [times]

import { uniform } from '../packages/grpo/dist/maths/random.js';
import { plainSampling } from '../packages/grpo/dist/rollout/completion.js';
import { draw, drawByOperators } from '../packages/grpo/dist/rollout/distribution.js';
import { empty, noGrad, tidy } from '../packages/torch/dist/index.js';

const [ROWS, VOCABULARY] = [64, 151_936];
const times = Number(process.argv[2] ?? 7);
const KINDS = {
  // A long tail, and about forty tokens far above it, as a trained model's logits have.
  peaked: () => {
    const isLikely = empty([ROWS, VOCABULARY])
      .uniform_(0, 1)
      .lt(empty([]).fill_(40 / VOCABULARY));
    const height = empty([ROWS, VOCABULARY]).normal_(12, 3);
    return empty([ROWS, VOCABULARY]).normal_(0, 2.2).add(isLikely.to('float32').mul(height));
  },
  // A model of random weights: nearly all tokens are in the nucleus.
  flat: () => empty([ROWS, VOCABULARY]).normal_(0, 0.3),
};
const WAYS = {
  plain: {},
  'top-p 0.95': { topP: 0.95 },
  'top-p 0.95, sets kept': { topP: 0.95, keepSupport: true },
  'top-k 50': { topK: 50 },
  'min-p 0.05': { minP: 0.05 },
  'all three': { topP: 0.95, topK: 50, minP: 0.05 },
  penalties: { repetitionPenalty: 1.1, presencePenalty: 0.2 },
  'top-p 0.95, every row its own temperature': { topP: 0.95, own: true },
};

const milliseconds = (run, count) => {
  const found = Array.from({ length: count }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  }).sort((a, b) => a - b);
  return found[count >> 1];
};

console.log('ms for a token of 64 rows, the median, and bytes of a set:');
for (const [kind, make] of Object.entries(KINDS)) {
  noGrad(() =>
    tidy(() => {
      const logits = tidy(make);
      let plain;
      for (const [way, { own, ...change }] of Object.entries(WAYS)) {
        const rows = Array.from({ length: ROWS }, (_, r) => ({
          options: { ...plainSampling, ...change, temperature: own ? 0.7 + r / 100 : 1 },
          uniform: uniform(1, r),
          generated: Array.from({ length: 200 }, (_, i) => (977 * i * (r + 1)) % VOCABULARY),
          mayEnd: true,
        }));
        const taken = milliseconds(() => tidy(() => draw(logits, rows)), times);
        plain ??= taken;
        const bytes = tidy(() => draw(logits, rows)).support.map((set) => set?.length ?? 0);
        const mean = bytes.reduce((a, b) => a + b) / ROWS;
        const byOperators = milliseconds(() => tidy(() => drawByOperators(logits, rows)), 1);
        console.log(
          `${kind.padEnd(7)} ${way.padEnd(42)} ${taken.toFixed(1).padStart(6)}  ${(taken / plain).toFixed(2)} × plain` +
            `  ${mean ? `${mean.toFixed(0)} bytes` : ''}  (libtorch's operators: ${byOperators.toFixed(0)})`,
        );
      }
    }),
  );
}
