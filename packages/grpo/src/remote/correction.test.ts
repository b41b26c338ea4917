import { expect, it } from 'vitest';
import { served } from '../lab/faults/server-faults.js';
import { labRun } from '../lab/lab-run.js';
import { rowsOf } from '../trace/index.js';

/** The second step on a server whose log-probs are off by up to 0.1 nats, and of each completion the terms of the loss. */
async function termsOf(settings: readonly string[]) {
  const noise = () => 0.2 * (Math.random() - 0.5);
  const { records } = await labRun(served({ noise }, { steps: 2, settings }));
  const { completions, scored, advantages, updates } = records[1]!;
  const [update] = updates!;
  const rows = (values: Float32Array) => rowsOf(values, scored!.lengths!);
  return [...scored!.lengths!.keys()].map((b) => ({
    advantage: advantages![b]!,
    server: rows(completions!.samplerLogprobs!)[b]!,
    trainer: rows(update!.policyLogprobs!)[b]!,
    terms: rows(update!.policyTerms!)[b]!,
  }));
}

it('weighs each token by trainer over server, up to the bound', async () => {
  const rows = await termsOf(['correction.level=token', 'correction.max=1.03']);
  let bounded = 0;
  for (const { advantage, server, trainer, terms } of rows) {
    for (const [t, term] of terms.entries()) {
      const ratio = Math.exp(trainer[t]! - server[t]!);
      if (ratio > 1.03) bounded++;
      // Before the first update the policy is its own old one: its ratio is 1.
      expect(term).toBeCloseTo(-advantage * Math.min(ratio, 1.03), 5);
    }
  }
  expect(bounded).toBeGreaterThan(0);
});

it('leaves out completions whose tokens together are out of the bounds', async () => {
  const rows = await termsOf([
    'correction.level=sequence',
    'correction.action=mask',
    'correction.min=0.95',
    'correction.max=1.05',
  ]);
  const kept = rows.map(({ advantage, server, trainer, terms }) => {
    const ratio = Math.exp(trainer.reduce((sum, value, t) => sum + value - server[t]!, 0));
    const isKept = ratio >= 0.95 && ratio <= 1.05;
    for (const term of terms) expect(term).toBeCloseTo(isKept ? -advantage * ratio : 0, 5);
    return isKept;
  });
  expect([kept.includes(true), kept.includes(false)]).toEqual([true, true]);
});
