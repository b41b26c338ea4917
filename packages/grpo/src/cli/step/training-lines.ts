/** Log-prob, loss, gradient and update of a step in words. */
import { formatValue, percent } from '../../doctor/sentence.js';
import type { MaskedView } from '../../view/masked-view.js';
import type { StepView } from '../../view/step-view.js';
import { number, signed } from '../cells.js';

/** Only our own runs have settings to change, and weights to load. */
export const isOurs = (producer: string) => producer.split(' ')[0] === 'grpo';

function estimateLine({ estimator, passes, hiddenPrompt, hiddenRegion, shifted }: MaskedView): string {
  const hidden =
    passes === undefined
      ? []
      : [
          `${passes === 1 ? 'one pass' : `${passes} passes`} per completion`,
          `${percent(hiddenRegion ?? 0)} of its places and ${percent(hiddenPrompt ?? 0)} of the prompt hidden`,
        ];
  const rows = `logits[i] predict ids[${shifted ? 'i + 1' : 'i'}]`;
  return [`estimate ${estimator ?? 'not declared'}`, ...hidden, rows].join(' · ');
}

/** @param shown - prompts whose groups are shown */
export function logprobLines(view: StepView, shown: readonly number[]): string[] {
  const { sample, completions, scoring, updates, masked } = view;
  const ratios = completions.flatMap(({ ratio }) => ratio ?? []);
  const beyond = updates[0]?.beyondClip;
  const againText = (of: string, apart: number | undefined) =>
    apart === undefined ? [] : [`${of}: ${apart === 0 ? 'equal' : `within ${formatValue(apart)} nats`}`];
  const first = completions.find(({ prompt }) => prompt === shown[0]);
  const ids = first && view.prompts[first.prompt]?.ids?.length;
  return [
    ...(masked ? [estimateLine(masked)] : []),
    ...(ids && first.tokens && !masked
      ? [
          `logits[${ids - 1} … ${ids + first.tokens - 2}] predict ids[${ids} … ${ids + first.tokens - 1}] of ${first.name}`,
        ]
      : []),
    [
      ...(sample.gap === undefined
        ? []
        : [`at most ${formatValue(sample.gap)} nats per token from the sampler’s`]),
      ...againText('scored twice', scoring.twice),
      ...againText('alone in the batch', scoring.alone),
    ].join(' · '),
    ratios.length === 0
      ? ''
      : `ratio ${number(Math.min(...ratios))} to ${number(Math.max(...ratios))} by completion, ${percent(beyond ?? 0)} of the tokens beyond the clip range`,
  ].filter(Boolean);
}

export function lossLines({ loss, declared, updates, producer }: StepView): string[] {
  if (!loss) return [];
  const { components, largest, kl, trained, tokens } = loss;
  const shareOf = (part: 'policy' | 'KL') => {
    const own = largest.find((one) => one.part === part);
    return own ? `; completion ${own.name} makes ${percent(own.share)} of it` : '';
  };
  const isZero = components.some(({ name, value }) => name === 'policy' && Math.abs(value) < 1e-6);
  return [
    ...components.map(({ name, coefficient, value }) => {
      const product = coefficient === 1 ? '' : ` = ${formatValue(coefficient)} × ${formatValue(value)}`;
      return `${name.padEnd(8)} ${signed(coefficient * value, 6)}${product}${name === 'policy' ? shareOf('policy') : name.startsWith('kl') ? shareOf('KL') : ''}`;
    }),
    ...(isZero
      ? ['a policy term of about 0 is usual at ratio 1: advantages sum to 0, their gradient does not']
      : []),
    ...(loss.loss === undefined
      ? []
      : [
          `${'loss'.padEnd(8)} ${signed(loss.loss, 6)}${updates.length > 1 ? `, of the first of ${updates.length} updates` : ''}`,
        ]),
    ...(trained === undefined ? [] : [`${trained} of ${tokens} tokens enter it`]),
    ...(kl
      ? [
          `KL to the reference, nats per token: k1 ${number(kl.k1)} · k2 ${number(kl.k2)} · k3 ${number(kl.k3)}${declared.kl?.estimator ? `; the loss takes ${declared.kl.estimator}` : ''}${isOurs(producer) ? '; kl.estimator=full computes the full one with the model' : ''}`,
        ]
      : []),
  ];
}

export function gradientLines({ updates: [update] }: StepView): string[] {
  if (update?.gradNorm === undefined) return [];
  const { gradNorm, gradNorms, clippedBy } = update;
  const clip =
    clippedBy === undefined ? '' : clippedBy < 1 ? `, clipped: × ${number(clippedBy, 3)}` : ', not clipped';
  const groups = Object.entries(gradNorms ?? {}).map(([name, norm]) => `${name} ${formatValue(norm)}`);
  return [`norm ${formatValue(gradNorm)}${clip}`, ...(groups.length > 0 ? [groups.join(' · ')] : [])];
}

export function updateLines({ updates }: StepView): string[] {
  return updates.flatMap((update, i) => {
    const { changedShare, changedWeightShare, updateNorm, learningRate, loss, beyondClip } = update;
    // The phases before show those of the first.
    const parts = [
      i === 0 || loss === undefined ? undefined : `loss ${signed(loss, 6)}`,
      i === 0 || beyondClip === undefined
        ? undefined
        : `${percent(beyondClip)} of the tokens beyond the clip range`,
      changedShare === undefined ? undefined : `${percent(changedShare)} of the weights moved`,
      changedWeightShare === undefined
        ? undefined
        : `${percent(changedWeightShare)} of those that the forward pass reads`,
      updateNorm === undefined ? undefined : `norm of the change ${formatValue(updateNorm)}`,
      learningRate === undefined ? undefined : `lr ${formatValue(learningRate)}`,
    ].filter((part) => part !== undefined);
    return parts.length > 0 ? [`${updates.length > 1 ? `update ${i + 1}: ` : ''}${parts.join(' · ')}`] : [];
  });
}
