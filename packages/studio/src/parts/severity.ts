import type { FindingLink } from 'grpo/studio';

interface SeverityLook {
  sign: string;
  word: string;
  /** Class of its colour. */
  kind: string;
}

/** How a severity is shown: by a sign and a word, since colour alone says nothing. */
export const SEVERITIES: Readonly<Record<FindingLink['finding']['severity'], SeverityLook>> = {
  fail: { sign: '✕', word: 'fail', kind: 'fail' },
  warn: { sign: '!', word: 'warn', kind: 'warn' },
  inform: { sign: 'i', word: 'note', kind: 'soft' },
};
