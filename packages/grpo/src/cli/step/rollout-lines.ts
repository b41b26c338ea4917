/** The first four phases of a step in words: prompt, sample, reward, advantage. */
import { formatValue } from '../../doctor/sentence.js';
import { excerpt } from '../../errors/printable.js';
import { sum } from '../../maths/moments.js';
import type { StepView } from '../../view/step-view.js';
import { number } from '../cells.js';

/** @param shown - prompts whose groups are shown */
export function promptLines({ prompts }: StepView, shown: readonly number[]): string[] {
  const one = prompts[shown[0] ?? 0];
  if (!one) return [];
  const ids = one.ids;
  const parts = [
    `p${one.index} ${one.text === undefined ? '(no text)' : excerpt(one.text)}`,
    ids && `${ids.length} ids ${idsText(ids)}`,
    one.bos === undefined ? undefined : bosText(one.bos, one.expectedBos),
    one.ending && ENDINGS[one.ending],
    one.answer === undefined ? undefined : `answer ${excerpt(one.answer)}`,
  ];
  return [parts.filter((part) => part !== undefined).join(' · ')];
}

const bosText = (count: number, expected: number | undefined) =>
  expected === undefined ? `${count} BOS` : `${count} BOS, ${expected} expected`;

const ENDINGS = {
  plain: 'plain text, no header of an assistant',
  header: 'ends in the assistant’s header',
  other: 'does NOT end in the assistant’s header',
} as const;

const idsText = (ids: readonly number[]) =>
  ids.length <= 8 ? `[${ids.join(' ')}]` : `[${ids.slice(0, 4).join(' ')} … ${ids.slice(-3).join(' ')}]`;

export function sampleLines({
  sample,
  completions,
  masked,
  declared: { rollout },
  prompts,
}: StepView): string[] {
  if (completions.length === 0) return [];
  const distinct = prompts.every(({ distinct }) => distinct !== undefined)
    ? `${sum(prompts.map(({ distinct }) => distinct!))} of ${completions.length} distinct`
    : `${completions.length} completions`;
  const { shortest, longest, ended, cut, entropy } = sample;
  const first = [
    distinct,
    shortest === undefined ? undefined : `${shortest}–${longest} tokens`,
    ended === undefined
      ? undefined
      : `${ended} ended, ${cut} cut${rollout?.maxNewTokens ? ` at ${rollout.maxNewTokens}` : ''}`,
    entropy === undefined ? undefined : `entropy ${formatValue(entropy)} nats per token`,
  ];
  const from = rollout?.temperature === undefined ? [] : [`drawn from ${distributionOf(rollout)}`];
  const filled =
    masked?.steps === undefined
      ? []
      : [
          `filled in ${masked.steps === 1 ? 'one step' : `${masked.steps} steps`}, in blocks of ${masked.blockLength ?? 'one'} places`,
        ];
  return [first.filter((part) => part !== undefined).join(' · '), ...from, ...filled];
}

function distributionOf(rollout: NonNullable<StepView['declared']['rollout']>): string {
  const { temperature, topP = 1, topK = 0, minP = 0 } = rollout;
  const cuts = [
    ...(topK > 0 ? [`top-k ${topK}`] : []),
    ...(topP < 1 ? [`top-p ${topP}`] : []),
    ...(minP > 0 ? [`min-p ${minP}`] : []),
  ];
  const softmax =
    temperature === 0
      ? 'the likeliest token'
      : temperature === 1
        ? 'softmax(logits)'
        : `softmax(logits / ${temperature})`;
  return `${softmax}, ${cuts.length > 0 ? cuts.join(', ') : 'nothing truncated'}`;
}

export function rewardLines({ rewards, completions }: StepView): string[] {
  if (rewards.length === 0) return [];
  const totals = completions.flatMap(({ total }) => total ?? []);
  const other = completions.filter(({ sampledText }) => sampledText !== undefined);
  const [first] = other;
  const texts = first
    ? [`${other.length} graded texts are not those that were sampled, that of ${first.name} the first`]
    : [];
  const sums = rewards.map(
    ({ name, weight, mean }) =>
      `${name}${weight === undefined ? '' : ` × ${weight}`} (mean ${number(mean, 3)})`,
  );
  const mean =
    totals.length > 0
      ? [
          `total ${number(sum(totals) / totals.length, 3)} on average, ${formatValue(Math.min(...totals))} to ${formatValue(Math.max(...totals))}`,
        ]
      : [];
  return [sums.join(' + '), ...mean, ...texts];
}

export function advantageLines(
  { prompts, declared: { advantage } }: StepView,
  shown: readonly number[],
): string[] {
  const one = prompts[shown[0] ?? 0];
  if (one?.advantages === undefined) return [];
  const how =
    advantage?.scale === 'none'
      ? ''
      : `, deviation ${number(one.deviation, 3)} (n − ${advantage?.ddof ?? 1})${advantage?.epsilon ? ` + ${formatValue(advantage.epsilon)}` : ''}`;
  const signal = prompts.filter((prompt) => prompt.signal).length;
  const others = signal < prompts.length ? ': in the others all rewards are equal, and advantages 0' : '';
  return [
    `p${one.index}: mean ${number(one.mean, 3)}${how}; Σ A = ${number(Math.abs(one.advantages) < 5e-5 ? 0 : one.advantages)}`,
    `signal in ${signal} of ${prompts.length} groups${others}`,
  ];
}
