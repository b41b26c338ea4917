import { dashOf, LINE_COLOURS } from './line-style.js';

/** A piece of a line beside its name. */
export function LineSample({ style, isMarks = false }: { style: number; isMarks?: boolean }) {
  const name = `curves-stroke-${(style % LINE_COLOURS.length) + 1}`;
  return (
    <svg class={`curves-sample ${name}`} width="24" height="10" viewBox="0 0 24 10" aria-hidden="true">
      {isMarks ? (
        <circle cx="12" cy="5" r="3.5" />
      ) : (
        <line x1="0" x2="24" y1="5" y2="5" stroke-dasharray={dashOf(style).join(' ')} />
      )}
    </svg>
  );
}
