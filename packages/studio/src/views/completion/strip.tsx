/** Tokens in reading order: as text, each with the level of its measure. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../parts/keys.js';
import { wholeNumber } from '../../parts/numbers.js';
import type { TokenText } from '../../parts/token-text.js';
import { VirtualList } from '../../parts/virtual-list.js';
import { placeAfter, rowOf, type Sequence, type StripRow } from './strip-rows.js';

/** The look of a token. */
export interface TokenLook {
  /** Classes of its level, its mask and its kind. */
  name: string;
  /** Words for a screen reader. */
  label: string;
}

interface StripProps {
  rows: readonly StripRow[];
  sequence: Sequence;
  textAt(place: number): TokenText;
  lookAt(place: number): TokenLook;
  /** The place that the address names. */
  pinned: number | undefined;
  onPoint(place: number | undefined): void;
  onPin(place: number | undefined): void;
  onWholePrompt(): void;
}

const LINE_PIXELS = 27;

export function Strip(props: StripProps) {
  const { rows, sequence, pinned, onPoint, onPin } = props;
  const place = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<number>();
  /** Whether the keys moved to a token that is yet to be drawn. */
  const isMoving = useRef(false);
  useLayoutEffect(() => setActive(undefined), [pinned]);
  const current = active ?? pinned ?? sequence.prompt;
  const target = active ?? pinned;
  useKeys({ '← → ↑ ↓ Home End': { does: 'another token, once one has the focus' } });
  const pressed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && pinned !== undefined) onPin(undefined);
    else if (/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key)) {
      isMoving.current = true;
      const next = placeAfter(event.key, current, rows, sequence);
      setActive(next);
      onPoint(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const placeOf = (event: Event): number | undefined => {
    const token = (event.target as Element).closest<HTMLElement>('[data-place]');
    return token ? Number(token.dataset.place) : undefined;
  };
  const drawn = (element: HTMLElement | null, own: number) => {
    if (!element || own !== current || !isMoving.current) return;
    isMoving.current = false;
    element.focus({ preventScroll: true });
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the tokens inside are buttons; this hears for all of them
    <div
      class="completion-strip"
      ref={place}
      onKeyDown={pressed}
      onPointerOver={(event) => onPoint(placeOf(event))}
      onPointerLeave={() => onPoint(undefined)}
      onFocusIn={(event) => {
        setActive(placeOf(event));
        onPoint(placeOf(event));
      }}
      onClick={(event) => {
        const clicked = placeOf(event);
        if (clicked !== undefined) onPin(clicked === pinned ? undefined : clicked);
      }}
    >
      <VirtualList
        count={rows.length}
        estimate={LINE_PIXELS}
        at={target === undefined ? undefined : rowOf(rows, target)}
        label="tokens"
      >
        {(index) => <Row {...props} row={rows[index]!} current={current} drawn={drawn} />}
      </VirtualList>
    </div>
  );
}

type RowProps = StripProps & {
  row: StripRow;
  current: number;
  drawn(element: HTMLElement | null, place: number): void;
};

function Row({ row, textAt, lookAt, pinned, current, drawn, onWholePrompt }: RowProps) {
  switch (row.kind) {
    case 'part':
      return <div class="completion-part">{row.text}</div>;
    case 'more':
      return (
        <div class="completion-part">
          <button type="button" class="link" onClick={onWholePrompt}>
            show {wholeNumber(row.tokens)} more tokens of the prompt
          </button>
        </div>
      );
    case 'boundary':
      return (
        <div class="completion-boundary">
          above: the prompt · below: the completion, {wholeNumber(row.count)} tokens
        </div>
      );
    case 'line':
      return (
        <div class="completion-line">
          {Array.from({ length: row.end - row.start }, (_, i) => {
            const own = row.start + i;
            const { shown, kind } = textAt(own);
            const { name, label } = lookAt(own);
            return (
              <button
                type="button"
                key={own}
                class={`token token-${kind} ${name}`}
                data-place={own}
                tabIndex={own === current ? 0 : -1}
                aria-pressed={own === pinned}
                aria-label={label}
                ref={(element) => drawn(element, own)}
              >
                {shown}
              </button>
            );
          })}
        </div>
      );
  }
}
