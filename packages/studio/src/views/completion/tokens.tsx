/** The strip of a completion's tokens, the choice of its colour, its chart and the card of one token. */
import type { CompletionAnswer } from 'grpo/studio';
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { shortNumber } from '../../parts/numbers.js';
import { type TokenText, tokenTexts } from '../../parts/token-text.js';
import { parseWhole, type Route, setQuery } from '../../route.js';
import { Filling } from './filling.js';
import { Legend } from './legend.js';
import { MeasureChart } from './measure-chart.js';
import { MEASURE_KEYS, type Measure, measures } from './measures.js';
import type { Scale } from './scale.js';
import { Strip, type TokenLook } from './strip.js';
import { type Sequence, sequenceOf, stripRows } from './strip-rows.js';
import { TokenCard } from './token-card.js';

interface TokensProps {
  answer: CompletionAnswer;
  measure: Measure;
  query: Route['query'];
}

export function Tokens({ answer, measure, query }: TokensProps) {
  const sequence = useMemo(() => sequenceOf(answer), [answer]);
  const values = useMemo(() => measure.valuesOf(answer)!, [answer, measure]);
  const scale = useMemo(() => measure.scaleOf(values), [measure, values]);
  const lacksTexts = useMemo(() => answer.columns.ids?.some((id) => !answer.pieces.has(id)), [answer]);
  const pinned = placeOf(query.token, sequence);
  const filled = parseWhole(query.filled);
  const [pointed, setPointed] = useState<number>();
  const [frame, columns] = useColumns();

  const texts = useMemo(() => tokenTexts(answer.pieces), [answer]);
  const plainAt = useCallback((place: number) => texts(sequence.idAt(place)), [texts, sequence]);
  const isPromptWhole = query.prompt === 'all' || (pinned !== undefined && pinned < sequence.prompt);
  const rows = useMemo(
    () => stripRows(answer, sequence, plainAt, { columns, isPromptWhole }),
    [answer, sequence, plainAt, columns, isPromptWhole],
  );
  const pin = useCallback(
    (place: number | undefined) =>
      setQuery({ token: place === undefined ? undefined : nameOf(place, sequence) }),
    [sequence],
  );
  const onFilled = useCallback((steps: number | undefined) => setQuery({ filled: steps }), []);

  // The strip stays the same node while only the pointed token changes.
  const strip = useMemo(() => {
    const look = lookOf(answer, measure, scale, values, sequence);
    const isHidden = (place: number) =>
      filled !== undefined &&
      place >= sequence.prompt &&
      answer.columns.order![place - sequence.prompt]! >= filled;
    const textAt = (place: number): TokenText => {
      const text = plainAt(place);
      return isHidden(place) ? { ...text, shown: '░'.repeat(text.width), kind: 'text' } : text;
    };
    return (
      <Strip
        rows={rows}
        sequence={sequence}
        textAt={textAt}
        lookAt={(place) =>
          isHidden(place) ? { name: 'hidden', label: 'not filled yet' } : look(place, plainAt(place).shown)
        }
        pinned={pinned}
        onPoint={setPointed}
        onPin={pin}
        onWholePrompt={() => setQuery({ prompt: 'all' })}
      />
    );
  }, [answer, measure, scale, values, sequence, rows, plainAt, pinned, filled, pin]);

  const place = pointed ?? pinned;
  return (
    <>
      <MeasureButtons answer={answer} current={measure} />
      <Legend measure={measure} scale={scale} values={values} />
      {answer.columns.order && <Filling order={answer.columns.order} filled={filled} onFilled={onFilled} />}
      {lacksTexts && (
        <p class="completion-lack">
          The record lacks texts of tokens: ids are shown. Records of <code>grpo train</code> have them.
        </p>
      )}
      <div class="completion-body">
        <div class="completion-frame" ref={frame}>
          {columns > 0 && strip}
          <p class="soft completion-keys">
            ← → ↑ ↓ Home End: tokens · Enter: pin · Esc: let go · 1–9, 0{answer.columns.order ? ', o' : ''}:
            measure · j k: completions
          </p>
        </div>
        <aside class="completion-side" aria-label="the token">
          <MeasureChart
            measure={measure}
            values={values}
            at={place === undefined ? undefined : place - sequence.prompt}
            onPick={(token) => pin(token + sequence.prompt)}
          />
          {place === undefined ? (
            <p class="soft completion-card">
              Point at a token, or go to one by the arrow keys: its numbers stand here.
            </p>
          ) : (
            <TokenCard
              answer={answer}
              sequence={sequence}
              place={place}
              measure={measure.key}
              isPinned={place === pinned}
              onUnpin={() => pin(undefined)}
            />
          )}
        </aside>
      </div>
    </>
  );
}

function MeasureButtons({ answer, current }: { answer: CompletionAnswer; current: Measure }) {
  return (
    <fieldset class="completion-measures" aria-label="colour by">
      {MEASURE_KEYS.map((key) => {
        const { name, shortcut, valuesOf } = measures[key];
        const isThere = valuesOf(answer) !== undefined;
        if (key === 'order' && !isThere) return null;
        return (
          <button
            type="button"
            key={key}
            aria-pressed={key === current.key}
            disabled={!isThere}
            title={isThere ? undefined : 'the record does not have it'}
            onClick={() => setQuery({ colour: key })}
          >
            {name} <kbd>{shortcut}</kbd>
          </button>
        );
      })}
    </fieldset>
  );
}

/** The look of each token by the chosen measure. */
function lookOf(
  { columns: { mask } }: CompletionAnswer,
  measure: Measure,
  scale: Scale,
  values: ArrayLike<number>,
  sequence: Sequence,
): (place: number, text: string) => TokenLook {
  return (place, text) => {
    const token = place - sequence.prompt;
    if (token < 0) {
      const level = measure.key === 'source' ? scale.levelOf(sequence.sourceAt(place)) : undefined;
      return { name: `prompt ${level?.name ?? ''}`, label: `prompt token ${place}: ${text}` };
    }
    const level = scale.levelOf(values[token]);
    const isMasked = mask?.[token] === 0;
    const value = measure.base === undefined ? level?.says : `${shortNumber(values[token])} ${measure.unit}`;
    return {
      name: `${level?.name ?? ''}${isMasked ? ' masked' : ''}`,
      label: `token ${token}: ${text}, ${measure.name} ${value}${isMasked ? ', not in the loss' : ''}`,
    };
  };
}

/** A place in the address: `12` is a token of the completion, `p12` one of the prompt. */
function placeOf(name: string | undefined, { prompt, length }: Sequence): number | undefined {
  const [, isPrompt, digits] = /^(p?)(\d+)$/.exec(name ?? '') ?? [];
  if (digits === undefined) return undefined;
  const place = Number(digits) + (isPrompt ? 0 : prompt);
  return place < (isPrompt ? prompt : length) ? place : undefined;
}

const nameOf = (place: number, { prompt }: Sequence): string =>
  place < prompt ? `p${place}` : String(place - prompt);

/** Columns of the fixed-width font that the frame has room for; 0 until it is measured. */
function useColumns() {
  const frame = useRef<HTMLDivElement>(null);
  const [columns, setColumns] = useState(0);
  useLayoutEffect(() => {
    const element = frame.current!;
    const measure = () => {
      const probe = document.createElement('span');
      probe.className = 'token completion-probe';
      probe.textContent = '0'.repeat(100);
      element.append(probe);
      const width = probe.getBoundingClientRect().width / 100;
      probe.remove();
      setColumns(Math.max(10, Math.floor((element.clientWidth - SCROLLBAR_PIXELS) / width)));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [frame, columns] as const;
}

const SCROLLBAR_PIXELS = 28;
