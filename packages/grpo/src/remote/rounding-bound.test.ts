import { fileURLToPath } from 'node:url';
import { noGrad, tidy } from '@grpo/torch';
import { expect, it, onTestFinished } from 'vitest';
import { rawModel } from '../audit/model/raw-model.js';
import { scoreSequences } from '../audit/plain/plain-logprobs.js';
import { loadModel } from '../models/index.js';
import { fixture } from '../rollout/rollout.test.helper.js';
import { roundingBound } from './rounding-bound.js';
import { scoresOf } from './weight-probe.js';

const NAMES = ['gpt2', 'llama3', 'llama3-tied', 'qwen2', 'qwen2-untied', 'qwen3', 'qwen3-bf16'];
const DTYPES = ['float32', 'bfloat16'] as const;

/** Chosen by nobody. */
const tokens = (count: number) => Array.from({ length: count }, () => Math.floor(250 * Math.random()));

it.each(NAMES.flatMap((name) => DTYPES.map((dtype) => [name, dtype] as const)))(
  'holds between two computations of %s in %s, and not by much more',
  (name, dtype) => {
    const folder = new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url);
    const model = loadModel(fileURLToPath(folder), { dtype });
    onTestFinished(() => model.decoder.dispose());
    const [prompt, completion] = [tokens(24), tokens(64)];
    const [own] = scoresOf(model, prompt, [completion]);
    const raw = rawModel(model, model.decoder, { lora: { rank: 0 } } as Parameters<typeof rawModel>[2]);
    const [plain] = noGrad(() => tidy(() => scoreSequences(raw, [{ prompt, completion }], 1)));
    const squares = own!.reduce((sum, value, t) => sum + (value - plain!.logprobs[t]!) ** 2, 0);
    const distance = Math.sqrt(squares / own!.length);
    const bound = roundingBound(model.decoder, [...prompt, ...completion], [dtype]);
    expect(distance).toBeLessThan(bound);
    expect(distance).toBeGreaterThan(bound / 100);
  },
);

it('is that of the coarser number type', () => {
  const { decoder } = fixture('llama3');
  onTestFinished(() => decoder.dispose());
  const of = (...dtypes: string[]) => roundingBound(decoder, [1, 2, 3], dtypes);
  expect(of('float32', 'bfloat16')).toBe(of('bfloat16'));
  expect(of('bfloat16') / of('float32')).toBeGreaterThan(1000);
});
