import { AdamW, noGrad, tidy } from '@grpo/torch';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { initLora } from '../../models/lora/init-lora.js';
import { Watch } from '../../progress/watch.js';
import { fixtureModel } from '../../step/step.test.helper.js';
import type { Example } from '../examples.js';
import type { LessonContext } from './audit-lesson.js';

/** Changes what is learnt behind the audit's back. */
let planted: {
  examples?(examples: readonly Example[]): Example[];
  /** Factor of each gradient afterwards. */
  factor?: number;
} = {};

vi.mock('../sft.js', async (original) => {
  const real = await original<typeof import('../sft.js')>();
  const learnExamples: typeof real.learnExamples = async (model, optimizer, examples, options) => {
    const learnt = await real.learnExamples(
      model,
      optimizer,
      planted.examples?.(examples) ?? examples,
      options,
    );
    const { factor } = planted;
    if (factor !== undefined)
      noGrad(() => tidy(() => [...optimizer.gradients.values()].forEach((one) => void one.mul_(factor))));
    return learnt;
  };
  return { ...real, learnExamples };
});

const { auditLesson } = await import('./audit-lesson.js');

afterEach(() => {
  planted = {};
});

const EXAMPLES: Example[] = [
  { prompt: [5, 6, 7, 8], completion: [9, 10, 11, 2] },
  { prompt: [12, 13], completion: [14, 15, 2] },
  { prompt: [16, 17, 18], completion: [19, 20, 21, 22, 23, 2] },
];

/** What an audit of an SFT step finds, and what it leaves of the gradients. */
async function audited(name: string, settings: readonly string[] = [], more: Partial<LessonContext> = {}) {
  const { config } = resolveConfig({
    command: 'sft',
    settings: ['task.name=arithmetic', 'model=m', 'rollout.maxNewTokens=8', ...settings],
  });
  const model = more.model ?? fixtureModel(name, config.dtype);
  const optimizer = new AdamW(model.decoder.trainable, config.optimizer);
  onTestFinished(() => optimizer.dispose());
  const own = { auditLack: undefined, step: 3, examples: EXAMPLES, seed: 7, watch: new Watch() };
  const measured = await auditLesson({ model, optimizer, config, ...own, ...more });
  const comparisons = measured.flatMap((one) => ('comparisons' in one ? one.comparisons : []));
  const apart = comparisons.filter(({ deviation, bound }) => !(deviation <= bound));
  return {
    measured,
    comparisons,
    apart: apart.map(({ quantity }) => quantity),
    left: optimizer.gradients.size,
  };
}

const ALL = [
  'mean negative log-likelihood of completion tokens',
  'norm of the gradient',
  'distance to the plain gradient',
];

describe('the audit of an SFT step', () => {
  it.each(['qwen3', 'gpt2', 'gemma3', 'llada', 'dream'])(
    '%s: holds, and leaves no gradient',
    async (name) => {
      for (const dtype of ['float32', 'bfloat16']) {
        const { comparisons, apart, left } = await audited(name, [`dtype=${dtype}`]);
        const quantities = comparisons.map(({ quantity }) => quantity);
        const ofParts = quantities.filter((quantity) => /^(layer|head)'s/.test(quantity));
        expect(quantities).toEqual([...ALL, ...ofParts]);
        expect(ofParts).toHaveLength(dtype === 'float32' ? 0 : 6);
        expect(apart).toEqual([]);
        expect(left).toBe(0);
      }
    },
  );

  it('tells a prompt that is learnt', async () => {
    planted.examples = (examples) =>
      examples.map(({ prompt, completion }) => ({
        prompt: prompt.slice(0, 1),
        completion: [...prompt.slice(1), ...completion],
      }));
    expect((await audited('qwen3')).apart).toEqual(ALL);
  });

  it('tells an end that is not learnt', async () => {
    planted.examples = (examples) =>
      examples.map((one) => ({ ...one, completion: one.completion.slice(0, -1) }));
    expect((await audited('qwen3')).apart).toContain('distance to the plain gradient');
  });

  it('tells gradients that are normalised otherwise', async () => {
    planted.factor = 3;
    const apart = ['scale of all gradients', ...ALL.slice(1)];
    expect((await audited('qwen3')).apart).toEqual(apart);
    expect((await audited('qwen3', ['dtype=bfloat16'])).apart).toEqual(apart);
  });

  it('says what it lacks', async () => {
    const { measured, left } = await audited('qwen3', [], { auditLack: 'memory' });
    expect(measured).toEqual([
      { handOver: 'loss', missing: 'memory' },
      { handOver: 'gradient', missing: 'memory' },
    ]);
    expect(left).toBe(0);
  });

  it('tells what the backward pass drops otherwise than the forward pass', async () => {
    const settings = ['lora.rank=2', 'lora.dropout=0.3', 'train.recompute=layers'];
    const quantity = 'distance to the gradient without recomputation, under dropout';
    const model = () => {
      const base = fixtureModel('qwen3');
      const lora = initLora(base.decoder.config, { rank: 2, alpha: 4, base: '' }, { seed: 3, device: 'cpu' });
      for (const parameter of lora.parameters.values()) parameter.requiresGrad = true;
      onTestFinished(() => lora.dispose());
      return { ...base, decoder: base.decoder.withLora(lora) };
    };
    const { comparisons, apart } = await audited('qwen3', settings, { model: model() });
    expect(comparisons.map((one) => one.quantity)).toContain(quantity);
    expect(apart).toEqual([]);
    const other = model();
    other.decoder.lora!.redrawing = (_, body) => body();
    expect((await audited('qwen3', settings, { model: other })).apart).toEqual([quantity]);
  });

  it('says that what it computes drops nothing', async () => {
    const { measured, apart } = await audited('qwen3', ['lora.rank=2', 'lora.dropout=0.1']);
    expect(measured.at(-1)).toMatchObject({
      handOver: 'gradient',
      missing: expect.stringContaining('lora.dropout'),
    });
    expect(apart).toEqual([]);
  });
});
