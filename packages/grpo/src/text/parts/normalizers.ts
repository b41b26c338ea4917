import type { Normalizer } from '../tokenizer-parts.js';
import { charsmapOf } from './charsmap.js';
import { regExpOf } from './pattern.js';

/** What changes a text, in order. @throws Error for a pattern or a character map that cannot be read */
export function normalizerOf(parts: readonly Normalizer[]): (text: string) => string {
  const steps = parts.map(stepOf);
  return (text) => steps.reduce((changed, step) => step(changed), text);
}

function stepOf(part: Normalizer): (text: string) => string {
  switch (part.type) {
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD': {
      const { type } = part;
      return (text) => text.normalize(type);
    }
    case 'Lowercase':
      // Character by character: of a whole word JavaScript would also change the last sigma.
      return (text) => Array.from(text, (char) => char.toLowerCase()).join('');
    case 'StripAccents':
      return (text) => text.replace(/\p{M}/gu, '');
    case 'Strip': {
      // JavaScript's own trim takes U+FEFF and leaves U+0085.
      const { strip_left, strip_right } = part;
      const ends = [strip_left && '^\\p{White_Space}+', strip_right && '\\p{White_Space}+$'].filter(Boolean);
      if (ends.length === 0) return (text) => text;
      const pattern = new RegExp(ends.join('|'), 'gu');
      return (text) => text.replace(pattern, '');
    }
    case 'Prepend':
      return (text) => (text === '' ? '' : part.prepend + text);
    case 'Replace': {
      const pattern = regExpOf(part.pattern);
      return (text) => text.replace(pattern, () => part.content);
    }
    case 'Precompiled':
      return charsmapOf(part.precompiled_charsmap);
  }
}
