import { visible } from './safe-text.js';

const WORDS: ReadonlyMap<string, string> = new Map([
  ['stop', 'ended'],
  ['length', 'cut off'],
]);

/** Why a completion ended, in words; a reason that only its trainer knows is shown as it is. */
export const finishWord = (finish: string | undefined): string =>
  finish === undefined ? '–' : (WORDS.get(finish) ?? visible(finish));
