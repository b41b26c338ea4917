/** Findings in words. Checks know none: they hand over data. */
import type { Finding } from '../finding.js';
import { written } from './format.js';
import { logWords } from './log.js';
import { stepWords } from './step.js';

export { written } from './format.js';

const words = { ...stepWords, ...logWords };

/** Codes that have words. */
export const worded: readonly string[] = Object.keys(words);

/** What a finding says, one or two sentences. */
export function sentenceOf({ code, measured }: Finding): string {
  const say = words[code];
  if (!say) throw new Error(`no words for ${code}`);
  return say((name) => written(measured[name]), measured);
}
