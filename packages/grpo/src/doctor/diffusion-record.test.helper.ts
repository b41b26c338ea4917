import { ESTIMATORS, type Estimator } from '../config/choices.js';
import { uniform } from '../maths/random.js';
import { offsetsOf, type RecordedView, type StepRecord, type UpdateRecord } from '../trace/index.js';
import { drawnViews } from './recompute/mask-plan.js';
import { type Rich, richRecord } from './rich-record.test.helper.js';

const WIDTH = 64;
const BLOCK = 16;
const STEPS = 32;
const SEED = 5;
export const MASK_ID = 47;

const SETTINGS = { promptMaskRate: 0.3, maskRates: [0.2, 0.8] as [number, number] };

/**
 * A right step of a masked-diffusion model: four blocks of 16 places, two per step, and two iterations with masks of
 * their own. What the sampler drew a token from is not what estimates its log-prob.
 */
export function diffusionRecord(estimator: Estimator, rich: Rich = {}): StepRecord {
  const record = richRecord(rich);
  const { prompts, completions, scored, updates, declared } = record;
  const lengths = [...completions!.lengths!];
  const promptLengths = Array.from(completions!.prompt!, (p) => prompts!.lengths![p]!);
  const plans = [0, 1].map((iteration) =>
    lengths.map((tokens, b) => viewsOf(estimator, iteration, b, { prompt: promptLengths[b]!, tokens })),
  );
  const starts = offsetsOf(lengths);
  const hidden = plans.map((views_B) =>
    Uint8Array.from(
      views_B.flatMap((views, b) =>
        Array.from({ length: lengths[b]! }, (_, t) => Number(views.some(({ region }) => region[t] === 1))),
      ),
    ),
  );
  declared!.diffusion = { estimator, ...SETTINGS, blockLength: BLOCK, steps: STEPS };
  record.seed = SEED;
  record.diffusion = {
    maskId: MASK_ID,
    blockLength: BLOCK,
    steps: STEPS,
    widths: Int32Array.from(lengths, () => WIDTH),
    region: Int32Array.from(
      lengths.flatMap((length, b) => [
        ...completions!.ids!.subarray(starts[b], starts[b + 1]),
        ...Array<number>(WIDTH - length).fill(49),
      ]),
    ),
    order: Int32Array.from(lengths.flatMap((_, b) => orderOf(b))),
    plans: plans.map((views_B, iteration) => ({
      keys: Int32Array.of(record.step - 1, -3, iteration),
      views: Int32Array.from(views_B, ({ length }) => length),
      weights: Float64Array.from(views_B.flat().map(({ weight }) => weight)),
      prompt: Uint8Array.from(views_B.flat().flatMap(({ prompt }) => [...prompt])),
      region: Uint8Array.from(views_B.flat().flatMap(({ region }) => [...region])),
    })),
  };
  const apart = (values: Float32Array, by: number) => values.map((value, t) => value - by * (1 + (t % 5)));
  completions!.samplerLogprobs = apart(completions!.samplerLogprobs!, 0.3);
  completions!.sampledLogprobs = apart(completions!.samplerLogprobs, -0.001);
  completions!.finish = lengths.map(() => 'stop');
  scored!.mask = hidden[0]!;
  const second = updates![1]!;
  Object.assign(second, {
    iteration: 1,
    mask: hidden[1]!,
    // Other masks move all log-probs alike: ratios and KL stay.
    oldLogprobs: apart(scored!.oldLogprobs!, 0.2),
    referenceLogprobs: apart(scored!.referenceLogprobs!, 0.2),
    policyLogprobs: apart(second.policyLogprobs!, 0.2),
  });
  for (const [i, own] of hidden.entries()) {
    const holders = i === 0 ? [scored!, updates![0]!] : [second];
    for (const holder of holders) onlyHidden(holder, own);
    setLoss(updates![i]!, declared!.kl!.beta!, own);
  }
  return record;
}

/** The passes over a completion, drawn from counted random numbers. */
function viewsOf(
  estimator: Estimator,
  iteration: number,
  b: number,
  { prompt, tokens }: { prompt: number; tokens: number },
): RecordedView[] {
  const [p, g] = [Math.floor(b / 4), b % 4];
  const draw = (...keys: number[]) => uniform(SEED, 0, -3, iteration, p, ...keys);
  return drawnViews(
    { estimator, ...SETTINGS },
    { prompt, width: WIDTH, tokens },
    (token) => draw(-1, token),
    (place) => draw(g, place),
    () => draw(g, -1),
  )!;
}

/** Two places of a block per step, in an order of its own for each completion. */
const orderOf = (b: number): number[] =>
  Array.from({ length: WIDTH }, (_, place) => {
    const [block, within] = [Math.floor(place / BLOCK), (place * 5 + b) % BLOCK];
    return (block * BLOCK) / 2 + Math.floor(within / 2);
  });

/** Leaves out what no pass hides: such a token has no log-prob. */
function onlyHidden(holder: object, hidden: Uint8Array): void {
  const rows = holder as Record<string, Float32Array>;
  for (const key of ['policyLogprobs', 'oldLogprobs', 'referenceLogprobs', 'entropies', 'klTerms'])
    if (rows[key]) rows[key] = rows[key].map((value, t) => (hidden[t] ? value : 0));
  if (rows.ratios) rows.ratios = rows.ratios.map((value, t) => (hidden[t] ? value : 1));
}

/** The loss of an update over its hidden tokens. */
function setLoss(update: UpdateRecord, beta: number, hidden: Uint8Array): void {
  const tokens = hidden.reduce((sum, is) => sum + is, 0);
  update.weights = Float32Array.from(hidden, (is) => is / tokens);
  const dot = (terms: Float32Array) => terms.reduce((sum, term, t) => sum + term * update.weights![t]!, 0);
  update.components = [
    { name: 'policy', coefficient: 1, value: dot(update.policyTerms!) },
    { name: 'kl', coefficient: beta, value: dot(update.klTerms!) },
  ];
  update.loss = update.components.reduce((sum, { coefficient, value }) => sum + coefficient * value, 0);
}

/** Every variant: each check judges at least one of them. Copies of records that are built once. */
export function rightRecords(seed = 1): StepRecord[] {
  const own = BUILT.get(seed) ?? built(seed);
  BUILT.set(seed, own);
  return structuredClone(own);
}
const BUILT = new Map<number, StepRecord[]>();

const built = (seed: number): StepRecord[] => [
  richRecord({ seed }),
  richRecord({ seed, step: 5 }),
  richRecord({ seed, penalties: true }),
  richRecord({ seed, bonus: true }),
  richRecord({ seed, temperature: 0.7 }),
  richRecord({ seed, kept: true }),
  { ...richRecord({ seed }), rows: richRecord({ seed }) },
  ...ESTIMATORS.map((estimator) => diffusionRecord(estimator, { seed })),
];
