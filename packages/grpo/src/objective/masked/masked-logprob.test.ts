import { tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { DEVICE } from '../../device.test.helper.js';
import { uniform } from '../../maths/random.js';
import { evenRows, initDecoder, type OwningDecoder, packSegments } from '../../models/index.js';
import { maskedShape } from '../../models/masked-shape.test.helper.js';
import { type ScoredGroup, scoreTokens } from '../logprob.js';
import type { MaskedView } from './mask-plan.js';

const MASK = 50;

const shape = (shifted: boolean) => maskedShape({ maskId: MASK, shifted }, { vocabSize: 51 });

const bits = (length: number, key: number, rate: number) =>
  Uint8Array.from({ length }, (_, i) => (uniform(5, key, i) < rate ? 1 : 0));

const view = (P: number, W: number, key: number, weight: number): MaskedView => ({
  prompt: bits(P, 2 * key, 0.3),
  region: bits(W, 2 * key + 1, 0.6),
  weight,
});

const region = (key: number) => Array.from({ length: 6 }, (_, i) => Math.floor(uniform(7, key, i) * MASK));
const regions = [region(1), region(2), region(3)];
const prompts = [
  [1, 2, 3, 4],
  [9, 8],
];
const groups: ScoredGroup[] = [
  {
    prompt: prompts[0]!,
    completions: [regions[0]!.slice(0, 4), regions[1]!],
    masked: [
      { region: regions[0]!, plan: [view(4, 6, 1, 0.5), view(4, 6, 2, 1.7)] },
      { region: regions[1]!, plan: [view(4, 6, 3, 0.25)] },
    ],
  },
  {
    prompt: prompts[1]!,
    completions: [regions[2]!.slice(0, 1)],
    masked: [{ region: regions[2]!, plan: [{ ...view(2, 6, 4, 1), region: new Uint8Array(6).fill(1) }] }],
  },
];

/** One place of one sequence by itself: log-probs of the whole vocabulary. */
function placeByItself(
  decoder: OwningDecoder,
  input: number[],
  place: number,
  temperature: number,
): number[] {
  return tidy(() => {
    const packed = packSegments([{ ids: input }], decoder.config, DEVICE);
    const hidden = decoder.hidden(packed, packed.attend).narrow(0, place, 1);
    const logits = decoder
      .logits(hidden)
      .toNumbers()
      .map((logit) => logit / temperature);
    const most = Math.max(...logits);
    const mass = most + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
    return logits.map((logit) => logit - mass);
  });
}

describe('log-probs of a masked-diffusion model', () => {
  it.each([false, true])(
    'are the weighted sums over the views that hide a token (shifted: %s)',
    (shifted) => {
      using decoder = initDecoder(shape(shifted), { seed: 3, device: DEVICE });
      const temperature = 0.8;
      const { logprobs, entropies } = tidy(() => {
        const scores = scoreTokens(decoder, groups, temperature);
        return { logprobs: scores.logprobs_T.toNumbers(), entropies: scores.entropies_T.toNumbers() };
      });
      let t = 0;
      for (const { prompt, completions, masked } of groups) {
        for (const [i, ids] of completions.entries()) {
          for (const [j, id] of ids.entries()) {
            let logprob = 0;
            const entropiesOfViews: number[] = [];
            for (const { prompt: hiddenPrompt, region: hidden, weight } of masked![i]!.plan) {
              if (!hidden[j]) continue;
              const seen = [
                ...prompt.map((own, p) => (hiddenPrompt[p] ? MASK : own)),
                ...masked![i]!.region.map((own, w) => (hidden[w] ? MASK : own)),
              ];
              const all = placeByItself(decoder, seen, prompt.length + j - (shifted ? 1 : 0), temperature);
              logprob += weight * all[id]!;
              entropiesOfViews.push(-all.reduce((sum, log) => sum + Math.exp(log) * log, 0));
            }
            const entropy =
              entropiesOfViews.reduce((sum, one) => sum + one, 0) / (entropiesOfViews.length || 1);
            expect(Math.abs(logprobs[t]! - logprob)).toBeLessThan(2e-5);
            expect(Math.abs(entropies[t]! - entropy)).toBeLessThan(2e-5);
            t++;
          }
        }
      }
      expect(t).toBe(11);
    },
  );

  it('computes equal inputs once', () => {
    using decoder = initDecoder(shape(false), { seed: 3, device: DEVICE });
    const all = new Uint8Array(6).fill(1);
    const plan = [{ prompt: new Uint8Array(4), region: all, weight: 1 }];
    const group = {
      prompt: prompts[0]!,
      completions: regions,
      masked: regions.map((ids) => ({ region: ids, plan })),
    };
    let tokens = 0;
    const hidden = decoder.hidden.bind(decoder);
    decoder.hidden = (packed, attend) => {
      tokens += packed.ids_N.numel;
      return hidden(packed, attend);
    };
    tidy(() => scoreTokens(decoder, [group], 1));
    expect(tokens).toBe(evenRows(10, decoder));
  });
});
