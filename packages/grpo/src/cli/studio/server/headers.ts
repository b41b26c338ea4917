import { contentPolicy } from '../content-policy.js';

/** Headers of every answer, of refusals too. */
export const HEADERS = {
  'content-security-policy': `${contentPolicy({ script: "'self'", style: "'self'", connect: "'self'" })}; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

export const TEXT = { 'content-type': 'text/plain; charset=utf-8' } as const;
