/** Cards of one width side by side, of which only those in sight exist. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import './card-strip.css';

interface CardStripProps {
  label: string;
  count: number;
  /** Width of a card with the space behind it, and height of the strip, in pixels. */
  width: number;
  height: number;
  /** Scrolled into sight when it changes. */
  at?: number | undefined;
  children: (index: number) => ComponentChildren;
}

/** Cards are made a little before they come into sight. */
const OVERSCAN = 1;

export function CardStrip({ label, count, width, height, at, children }: CardStripProps) {
  const place = useRef<HTMLElement>(null);
  const [first, setFirst] = useState(0);
  useLayoutEffect(() => {
    if (at === undefined) return;
    const { scrollLeft, clientWidth } = place.current!;
    if (at * width < scrollLeft) place.current!.scrollLeft = at * width;
    else if ((at + 1) * width > scrollLeft + clientWidth)
      place.current!.scrollLeft = (at + 1) * width - clientWidth;
  }, [at, width]);
  const [start, end] = [
    Math.max(0, Math.min(first, count) - OVERSCAN),
    // No strip is wider than the window.
    Math.min(count, first + Math.ceil(globalThis.innerWidth / width) + 1 + OVERSCAN),
  ];
  return (
    <section
      class="card-strip"
      ref={place}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
      tabIndex={0}
      style={{ height: `${height}px` }}
      onScroll={() => setFirst(Math.floor(place.current!.scrollLeft / width))}
    >
      <ul style={{ width: `${count * width}px` }}>
        {Array.from({ length: end - start }, (_, i) => start + i).map((index) => (
          <li key={index} style={{ left: `${index * width}px` }}>
            {children(index)}
          </li>
        ))}
      </ul>
    </section>
  );
}
