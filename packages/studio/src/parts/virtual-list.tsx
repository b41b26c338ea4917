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
  /** Side by side instead of below one another: rows are columns, and the list needs a height. */
  isAcross?: boolean;
  label: string;
  class?: string;
  children: (index: number) => ComponentChildren;
}

/** Rows may have any height: each is measured. */
export function VirtualList({
  count,
  estimate,
  at,
  isAcross = false,
  label,
  class: name = '',
  children,
}: VirtualListProps) {
  const place = useRef<HTMLElement>(null);
  const [, redraw] = useState({});
  const options: VirtualizerOptions<HTMLElement, HTMLElement> = {
    count,
    getScrollElement: () => place.current,
    estimateSize: () => estimate,
    overscan: isAcross ? 2 : 6,
    horizontal: isAcross,
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
    if (at !== undefined) list.scrollToIndex(at, { align: 'auto' });
  }, [list, at]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section
      class={`virtual-list ${isAcross ? 'virtual-list-across' : ''} ${name}`}
      ref={place}
      aria-label={label}
      tabIndex={0}
    >
      <ul class="virtual-list-all" style={{ [isAcross ? 'width' : 'height']: `${list.getTotalSize()}px` }}>
        {list.getVirtualItems().map(({ index, key, start }) => (
          <li
            key={key}
            class="virtual-list-row"
            data-index={index}
            ref={(row) => {
              if (row) list.measureElement(row);
            }}
            style={{ transform: `translate${isAcross ? 'X' : 'Y'}(${start}px)` }}
          >
            {children(index)}
          </li>
        ))}
      </ul>
    </section>
  );
}
