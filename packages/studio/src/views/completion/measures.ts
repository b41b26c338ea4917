/** The measures that tokens can be coloured by. */
import type { CompletionAnswer } from 'grpo/studio';
import { shortNumber } from '../../parts/numbers.js';
import { classScale, ownScale, type Scale, sizeScale } from './scale.js';

export const MEASURE_KEYS = [
  'logprob',
  'entropy',
  'ratio',
  'clip',
  'gap',
  'kl',
  'advantage',
  'loss',
  'mask',
  'source',
  'order',
] as const;
export type MeasureKey = (typeof MEASURE_KEYS)[number];

export interface Measure {
  key: MeasureKey;
  name: string;
  unit: string;
  /** Its meaning, in a sentence. */
  says: string;
  /** The key that chooses it. */
  shortcut: string;
  /** Its numbers; undefined where the record lacks them. */
  valuesOf(answer: CompletionAnswer): ArrayLike<number> | undefined;
  scaleOf(values: ArrayLike<number>): Scale;
  /** The value at which a chart of it has its line; a measure that is no quantity has no chart. */
  base?: number;
}

const nats = (bound: number) => `${bound} nats`;

const signedNats = sizeScale({
  bounds: [0.001, 0.01, 0.1, 1],
  isSigned: true,
  says: (bound, sign) => (sign > 0 ? `≥ ${nats(bound)}` : `≤ −${nats(bound)}`),
  small: 'below 0.001 nats',
});

export const measures: Readonly<Record<MeasureKey, Measure>> = {
  logprob: {
    key: 'logprob',
    name: 'log-prob',
    unit: 'nats',
    says: 'log π of the policy before this update; the sampler’s where the record has no other',
    shortcut: '1',
    valuesOf: ({ columns }) => columns.policy ?? columns.sampler,
    scaleOf: () =>
      sizeScale({
        bounds: [0.1, 0.7, 2.3, 4.6],
        isSigned: false,
        says: (bound) => `≤ −${nats(bound)}`,
        small: 'above −0.1 nats',
      }),
    base: 0,
  },
  entropy: {
    key: 'entropy',
    name: 'entropy',
    unit: 'nats',
    says: 'entropy of the distribution that the policy gives to the next token',
    shortcut: '2',
    valuesOf: ({ columns }) => columns.entropy,
    scaleOf: () =>
      sizeScale({
        bounds: [0.1, 0.5, 1, 2],
        isSigned: false,
        says: (bound) => `≥ ${nats(bound)}`,
        small: 'below 0.1 nats',
      }),
    base: 0,
  },
  ratio: {
    key: 'ratio',
    name: 'ratio',
    unit: '',
    says: 'policy to old policy, as the loss used it',
    shortcut: '3',
    valuesOf: ({ columns }) => columns.ratio,
    scaleOf: () =>
      sizeScale({
        bounds: [0.01, 0.1, 0.2, 1],
        isSigned: true,
        sizeOf: (ratio) => (ratio >= 1 ? ratio - 1 : 1 - 1 / ratio),
        says: (bound, sign) => (sign > 0 ? `≥ ${1 + bound}` : `≤ 1 / ${1 + bound}`),
        small: 'within 1 % of 1',
      }),
    base: 1,
  },
  clip: {
    key: 'clip',
    name: 'clip',
    unit: '',
    says: 'where the ratio is in the clip range, and whether the clipping cuts the gradient off',
    shortcut: '4',
    valuesOf: ({ columns }) => columns.clip,
    scaleOf: () =>
      classScale({
        [-1]: { name: 'minus-2', says: 'below the range' },
        0: { name: 'zero', says: 'inside' },
        1: { name: 'plus-2', says: 'above the range' },
        2: { name: 'cut', says: 'gradient cut off' },
      }),
  },
  gap: {
    key: 'gap',
    name: 'gap',
    unit: 'nats',
    says: 'log π of the trainer less that of the sampler, for the same token and weights: rounding, or a fault',
    shortcut: '5',
    valuesOf: ({ columns }) => columns.gap,
    scaleOf: () => signedNats,
    base: 0,
  },
  kl: {
    key: 'kl',
    name: 'KL term',
    unit: 'nats',
    says: 'the estimate of KL(policy ‖ reference) that the loss adds, before β and weight',
    shortcut: '6',
    valuesOf: ({ columns }) => columns.klTerm,
    scaleOf: () => signedNats,
    base: 0,
  },
  advantage: {
    key: 'advantage',
    name: 'A × weight',
    unit: '',
    says: 'the completion’s advantage times the token’s weight in the loss: how hard the step pushes',
    shortcut: '7',
    valuesOf: ({ advantage, columns }) =>
      advantage === undefined ? undefined : columns.weight?.map((weight) => advantage * weight),
    scaleOf: (values) => ownScale(values),
    base: 0,
  },
  loss: {
    key: 'loss',
    name: 'loss share',
    unit: '',
    says: 'what the token adds to the loss of the update: its policy term and its KL, by their weights',
    shortcut: '8',
    valuesOf: ({ columns }) => columns.loss,
    scaleOf: (values) => ownScale(values),
    base: 0,
  },
  mask: {
    key: 'mask',
    name: 'mask',
    unit: '',
    says: 'whether the token enters the loss',
    shortcut: '9',
    valuesOf: ({ columns }) => columns.mask,
    scaleOf: () =>
      classScale({
        0: { name: 'zero', says: 'not in the loss' },
        1: { name: 'plus-2', says: 'in the loss' },
      }),
  },
  source: {
    key: 'source',
    name: 'source',
    unit: '',
    says: 'who wrote the token',
    shortcut: '0',
    valuesOf: ({ columns, count }) => columns.source ?? (count > 0 ? new Uint8Array(count) : undefined),
    scaleOf: () =>
      classScale({
        [SOURCES.prompt]: { name: 'zero', says: 'prompt' },
        [SOURCES.template]: { name: 'template', says: 'template' },
        [SOURCES.policy]: { name: 'plus-2', says: 'policy' },
        [SOURCES.tool]: { name: 'minus-3', says: 'tool' },
      }),
  },
  order: {
    key: 'order',
    name: 'order',
    unit: '',
    says: 'the denoising step that filled the place',
    shortcut: 'o',
    valuesOf: ({ columns }) => columns.order,
    scaleOf: (values) => {
      const last = Array.from(values).reduce((most, step) => Math.max(most, step), 0);
      const bounds = [...new Set([0.2, 0.4, 0.6, 0.8].map((share) => Math.max(1, Math.ceil(share * last))))];
      return sizeScale({
        bounds,
        isSigned: false,
        says: (bound) => `step ${shortNumber(bound)} and later`,
        small: `before step ${bounds[0]}`,
      });
    },
    base: 0,
  },
};

/** The sources of the record, and the prompt's, which stands beside the completion. */
export const SOURCES = { policy: 0, tool: 1, template: 2, prompt: 3 } as const;

/** The measure of the address, or the first that the record has. */
export function chosenMeasure(answer: CompletionAnswer, key: string | undefined): Measure | undefined {
  const there = MEASURE_KEYS.filter((name) => measures[name].valuesOf(answer) !== undefined);
  return measures[there.find((name) => name === key) ?? there[0]!];
}
