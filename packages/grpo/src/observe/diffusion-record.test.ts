import { type DType, noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ESTIMATORS, type Estimator } from '../config/choices.js';
import { examine } from '../doctor/examine.js';
import { inputs, membersOf, scoredRows, updateRows } from '../doctor/inputs.js';
import { plansOfUpdate } from '../doctor/measures/mask-plans.js';
import { registry } from '../doctor/registry.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type Decoder, type Model, packSegments } from '../models/index.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from '../step/step.test.helper.js';
import { readStepRecord, type StepRecord, writeStepRecord } from '../trace/index.js';
import { recordStep } from './record-step.js';
import { stepRecordOf } from './step-record.js';

const TEMPERATURE = 0.8;

function diffusionModel({ shifted = false, dtype = 'float32' as DType } = {}): Model {
  const model = fixtureModel('qwen2', dtype);
  model.decoder.config.diffusion = { maskId: 258, shifted };
  return model;
}

/** A step of a masked-diffusion model with two iterations, its record written and read. */
async function recorded(model: Model, estimator: Estimator, settings: string[] = [], learningRate = 0) {
  const reference = model.decoder.clone();
  onTestFinished(() => reference.dispose());
  const trainer = trainerOf(
    model,
    [
      `diffusion.estimator=${estimator}`,
      'diffusion.blockLength=4',
      'diffusion.steps=6',
      ...(estimator === 'd1' ? ['diffusion.promptMaskRate=0.3'] : []),
      'kl.beta=0.05',
      'objective.iterations=2',
      'objective.oldLogprobs=recompute',
      `rollout.temperature=${TEMPERATURE}`,
      'rollout.maxNewTokens=12',
      'rollout.prompts=4',
      ...settings,
    ],
    { score: spreadRewards },
    reference,
  );
  const step = await recordStep(trainer, PROBLEMS, 0, learningRate, {
    measureWeights: true,
    probeScoring: true,
  });
  const folder = tempFolder();
  writeStepRecord(folder, stepRecordOf(trainer, step, 1));
  return readStepRecord(folder);
}

/** The estimate of a token's log-prob from the record and a model's weights alone. */
function scoreOf(decoder: Decoder, record: StepRecord, iteration: number, b: number, token: number): number {
  const { maskId, shifted } = record.diffusion!;
  const prompt = inputs.scoredPromptIds.from(record)![record.completions!.prompt![b]!]!;
  const region = inputs.regions.from(record)![b]!;
  const views = inputs.plans.from(record)![iteration]![b]!;
  return views.reduce((sum, view) => {
    if (!view.region[token]) return sum;
    const hide = (ids: Int32Array, hidden: Uint8Array) => [...ids].map((id, i) => (hidden[i] ? maskId : id));
    const ids = [...hide(prompt, view.prompt), ...hide(region, view.region)];
    const logprob = noGrad(() =>
      tidy(() => {
        const packed = packSegments([{ ids }], decoder.config, decoder.device);
        const place = prompt.length + token - (shifted ? 1 : 0);
        const hidden = decoder.hidden(packed, packed.attend).narrow(0, place, 1);
        return decoder
          .logits(hidden)
          .div(TEMPERATURE)
          .logSoftmax(-1)
          .narrow(1, region[token]!, 1)
          .sum()
          .item();
      }),
    );
    return sum + view.weight * logprob;
  }, 0);
}

describe.each(ESTIMATORS)('the record of a step of a masked-diffusion model, %s', (estimator) => {
  it.each([false, true])('has all that its scores are computed from (shifted: %s)', async (shifted) => {
    const model = diffusionModel({ shifted });
    const record = await recorded(model, estimator);
    expect(record.updates).toHaveLength(2);
    expect(record.diffusion).toMatchObject({ maskId: 258, shifted, blockLength: 4, steps: 6 });
    let scores = 0;
    // A learning rate of 0 leaves the weights of all three the same.
    for (const [iteration, update] of record.updates!.entries()) {
      const sides = [
        updateRows(record, update, 'policyLogprobs'),
        scoredRows(record, update, 'oldLogprobs'),
        scoredRows(record, update, 'referenceLogprobs'),
      ];
      for (const [row, b] of membersOf(record, update).entries()) {
        for (const token of sides[0]![row]!.keys()) {
          const expected = scoreOf(model.decoder, record, iteration, b, token);
          for (const side of sides) expect(Math.abs(side![row]![token]! - expected)).toBeLessThan(2e-5);
          scores++;
        }
      }
      expect(plansOfUpdate(record, update)).toHaveLength(16);
    }
    expect(scores).toBeGreaterThan(100);
    expect(inputs.plans.from(record)![0]).not.toEqual(inputs.plans.from(record)![1]);
  });

  it.each<[name: string, settings: string[]]>([
    ['as it is', []],
    ['with random remasking', ['diffusion.remasking=random']],
    ['with minibatches and small micro-batches', ['objective.minibatches=2', 'train.microBatchTokens=40']],
    ['with a loss per completion', ['objective.loss=grpo']],
    ['with steps that do not divide', ['diffusion.steps=5', 'rollout.maxNewTokens=11']],
    ['in bfloat16', ['dtype=bfloat16']],
  ])('has nothing to find in it, %s', async (_, settings) => {
    const dtype = settings.includes('dtype=bfloat16') ? 'bfloat16' : 'float32';
    const record = await recorded(diffusionModel({ dtype }), estimator, settings, 1e-3);
    const { findings, judgements } = examine({ records: [record] }, registry);
    expect(findings.filter(({ severity }) => severity !== 'inform')).toEqual([]);
    const judged = judgements.filter((one) => one.judged > 0).map(({ code }) => code);
    const own = ['B63.views', 'B63.rate', 'B63.draws', 'B63.hidden', 'B63.same', 'B64.order', 'B64.region'];
    expect(judged).toEqual(
      expect.arrayContaining([...own, 'B40.old', 'B41.weights', 'B47.policy', 'B48.estimator']),
    );
    expect(judged).not.toContain('B39.gap');
  });
});

it('a step that fills all places at once is scored as it is sampled', async () => {
  const settings = ['diffusion.steps=1', 'diffusion.blockLength=12', 'diffusion.promptMaskRate=0'];
  const record = await recorded(diffusionModel(), 'd1', settings);
  const { findings, judgements } = examine({ records: [record] }, registry);
  expect(findings.filter(({ severity }) => severity !== 'inform')).toEqual([]);
  expect(judgements.find(({ code }) => code === 'B39.gap')).toMatchObject({ verdict: 'pass' });
});
