/** Text of a run, which anyone may have written, with its unseen characters made visible. */
import { useState } from 'preact/hooks';
import { wholeNumber } from './numbers.js';

/** Characters that would hide, reorder or overprint others: Unicode's control and format characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Returns a text with marks such as `⟨U+202E⟩` for unseen characters, and Unicode's pictures for ESC and its like. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (char) => {
    const code = char.codePointAt(0)!;
    if (char === '\n' || char === '\t') return char;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? '\u2421' : `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

const MOST_CHARACTERS = 4000;

/** A text in its own direction, cut where it is long until the reader wants all. */
export function SafeText({ text, most = MOST_CHARACTERS }: { text: string; most?: number }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = text.length > most && !isWhole;
  return (
    <span class="safe-text" dir="auto">
      {visible(isCut ? text.slice(0, most) : text)}
      {isCut && (
        <button
          type="button"
          class="link"
          onClick={(event) => {
            // A text may stand in a link or in the head of a fold.
            event.preventDefault();
            setWhole(true);
          }}
        >
          {' '}
          … {wholeNumber(text.length - most)} characters more
        </button>
      )}
    </span>
  );
}
