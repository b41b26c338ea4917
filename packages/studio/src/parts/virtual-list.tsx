/** A list of which only the rows in sight exist. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualListProps {
  count: number;
  /** Pixels of a row before it is measured. */
  estimate: number;
  /** Scrolled into sight when it changes. */
  at?: number | undefined;
  label: string;
  class?: string;
  children: (index: number) => ComponentChildren;
}

/** Rows this far out of sight are reached by a key. */
const NEAR = 2;

/** Rows may have any height: each is measured. */
export function VirtualList({ count, estimate, at, label, class: name = '', children }: VirtualListProps) {
  const place = useRef<HTMLElement>(null);
  const [, redraw] = useState({});
  const made = useRef({ children, rows: new Map<number, ComponentChildren>() });
  const options: VirtualizerOptions<HTMLElement, HTMLElement> = {
    count,
    getScrollElement: () => place.current,
    estimateSize: () => estimate,
    overscan: 6,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw({}),
  };
  const [list] = useState(() => new Virtualizer(options));
  list.setOptions(options);
  useLayoutEffect(() => list._didMount(), [list]);
  useLayoutEffect(() => list._willUpdate());
  useLayoutEffect(() => {
    if (at === undefined) return;
    // A key scrolls no further than it must; a link leads to the middle.
    const { startIndex, endIndex } = list.range ?? { startIndex: at, endIndex: at };
    const isNear = at >= startIndex - NEAR && at <= endIndex + NEAR;
    list.scrollToIndex(at, { align: isNear ? 'auto' : 'center' });
  }, [list, at]);
  // A row that was there before is the same one: it is not drawn again while one scrolls.
  const items = list.getVirtualItems();
  const before = made.current.children === children ? made.current.rows : undefined;
  const rows = new Map(items.map(({ index }) => [index, before?.get(index) ?? children(index)]));
  made.current = { children, rows };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section class={`virtual-list ${name}`} ref={place} aria-label={label} tabIndex={0}>
      <ul class="virtual-list-all" style={{ height: `${list.getTotalSize()}px` }}>
        {items.map(({ index, key, start }) => (
          <li
            key={key}
            class="virtual-list-row"
            data-index={index}
            ref={(row) => {
              if (row) list.measureElement(row);
            }}
            style={{ transform: `translateY(${start}px)` }}
          >
            {rows.get(index)}
          </li>
        ))}
      </ul>
    </section>
  );
}
