/** All numbers of one token. */
import type { CompletionAnswer } from 'grpo/studio';
import { percent, shortNumber, signedNumber, wholeNumber } from '../../parts/numbers.js';
import { SafeText } from '../../parts/safe-text.js';
import { hex, shownText } from '../../parts/token-text.js';
import { type MeasureKey, measures, SOURCES } from './measures.js';
import type { Sequence } from './strip-rows.js';

interface TokenCardProps {
  answer: CompletionAnswer;
  sequence: Sequence;
  place: number;
  measure: MeasureKey;
  isPinned: boolean;
  onUnpin(): void;
}

/** Bytes of a token that are shown; there are tokens of hundreds of spaces. */
const MOST_BYTES = 64;

export function TokenCard({ answer, sequence, place, measure, isPinned, onUnpin }: TokenCardProps) {
  const id = sequence.idAt(place);
  const piece = id === undefined ? undefined : answer.pieces.get(id);
  const token = place - sequence.prompt;
  const isPrompt = token < 0;
  return (
    <div class="completion-card">
      <h2>
        {isPrompt
          ? `Prompt token ${place} of ${sequence.prompt}`
          : `Token ${token} of ${wholeNumber(answer.count)}`}
        {isPinned && (
          <button type="button" onClick={onUnpin}>
            pinned: let go
          </button>
        )}
      </h2>
      <p class="mono completion-card-text">
        {piece ? <SafeText text={shownText(piece.text)} most={200} /> : 'no text in the record'}
      </p>
      <table>
        <tbody>
          <NumberRow name="id" value={id === undefined ? '–' : String(id)} />
          {piece && (
            <NumberRow
              name="bytes"
              value={`${hex(piece.bytes.subarray(0, MOST_BYTES))}${piece.bytes.length > MOST_BYTES ? ' …' : ''}`}
              unit={`(${piece.bytes.length})`}
            />
          )}
          {piece?.special && <NumberRow name="kind" value="special token" />}
          <NumberRow
            name="source"
            value={sourceName(sequence.sourceAt(place))}
            isCurrent={measure === 'source'}
          />
          {!isPrompt &&
            numbersOf(answer, token).map((number) => (
              <NumberRow key={number.name} {...number} isCurrent={measure === number.measure} />
            ))}
        </tbody>
      </table>
      {isPrompt && (
        <p class="soft">A prompt’s tokens are given: they have no log-prob and no part in the loss.</p>
      )}
    </div>
  );
}

const sourceName = (source: number): string =>
  Object.entries(SOURCES).find(([, value]) => value === source)?.[0] ?? String(source);

interface NumberProps {
  name: string;
  value: string;
  unit?: string;
  measure?: MeasureKey;
  isCurrent?: boolean;
}

const NumberRow = ({ name, value, unit, isCurrent = false }: NumberProps) => (
  <tr class={isCurrent ? 'current' : undefined}>
    <th scope="row">{name}</th>
    <td>
      {value} {unit !== undefined && <span class="soft">{unit}</span>}
    </td>
  </tr>
);

/** The recorded numbers of a token, in the order in which a step makes them. */
function numbersOf({ columns, advantage, update, updates }: CompletionAnswer, token: number): NumberProps[] {
  const logprob = (name: string, values: Float32Array | undefined, measure?: MeasureKey): NumberProps[] =>
    values === undefined
      ? []
      : [
          {
            name,
            value: signedNumber(values[token]),
            unit: `nats (${percent(Math.exp(values[token]!))})`,
            ...(measure && { measure }),
          },
        ];
  const number = (
    name: string,
    values: ArrayLike<number> | undefined,
    unit = '',
    measure?: MeasureKey,
  ): NumberProps[] =>
    values === undefined
      ? []
      : [{ name, value: signedNumber(values[token], 5), unit, ...(measure && { measure }) }];
  const one = (name: string, value: string | undefined, measure?: MeasureKey): NumberProps[] =>
    value === undefined ? [] : [{ name, value, ...(measure && { measure }) }];
  const { mask, clip, weight } = columns;
  return [
    ...one('in the loss', mask && (mask[token] === 0 ? 'no: masked' : 'yes'), 'mask'),
    ...one('filled at denoising step', columns.order && shortNumber(columns.order[token]), 'order'),
    ...(columns.support
      ? [{ ...one('drawn from', shortNumber(columns.support[token]))[0]!, unit: 'ids that were kept' }]
      : []),
    ...logprob('log π, sampler', columns.sampler, columns.policy ? undefined : 'logprob'),
    ...logprob('log π, as drawn', columns.sampled),
    ...logprob('log π, old', columns.old),
    ...logprob(updates > 1 ? `log π, update ${update + 1}` : 'log π, policy', columns.policy, 'logprob'),
    ...logprob('log π, reference', columns.reference),
    ...number('gap, policy − sampler', columns.gap, 'nats', 'gap'),
    ...(columns.entropy
      ? [{ ...one('entropy', shortNumber(columns.entropy[token]), 'entropy')[0]!, unit: 'nats' }]
      : []),
    ...one('ratio', columns.ratio && shortNumber(columns.ratio[token], 6), 'ratio'),
    ...one('clip', clip && measures.clip.scaleOf(clip).levelOf(clip[token])?.says, 'clip'),
    ...(advantage === undefined
      ? []
      : [{ name: 'advantage', value: signedNumber(advantage), unit: 'of the completion' }]),
    ...number('policy term', columns.policyTerm),
    ...number('KL term', columns.klTerm, 'nats, before β', 'kl'),
    ...number('weight', weight),
    ...number(
      'A × weight',
      advantage === undefined ? undefined : weight?.map((w) => advantage * w),
      '',
      'advantage',
    ),
    ...number('loss share', columns.loss, 'of the loss', 'loss'),
    ...number('d loss / d log π, policy', columns.policySlope),
    ...number('d loss / d log π, KL', columns.klSlope),
  ];
}
