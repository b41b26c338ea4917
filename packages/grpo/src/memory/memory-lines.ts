/** An estimate in words. */
import { byteCount } from '../errors/byte-count.js';
import type { Estimate, Phase } from './estimate.js';

const largestPhase = ({ phases, peak }: Estimate): Phase => phases.find(({ bytes }) => bytes === peak)!;

/** Less is not worth a word in a line. */
const WORTH = 0.02;

/** What the largest phase is made of, the largest first: `most in training: optimizer 5.9 GB, weights 988 MB`. */
export function reasonsOf(estimate: Estimate): string {
  const { name, parts, bytes } = largestPhase(estimate);
  const named = parts
    .filter((part) => part.bytes >= WORTH * bytes)
    .sort((a, b) => b.bytes - a.bytes)
    .map((part) => `${part.name} ${byteCount(part.bytes)}`);
  return `most in ${name}: ${named.join(', ')}`;
}

/** What a run will need, in a line. */
export function memoryLine(estimate: Estimate, budget: { bytes: number; source: string }): string {
  const lack = auditLack(estimate);
  const audit = lack === undefined ? '' : ` The audit is left without ${lack}.`;
  return `Memory: about ${byteCount(estimate.peak)} of ${byteCount(budget.bytes)} (${budget.source}), ${reasonsOf(estimate)}.${audit}`;
}

/** What the audit lacks of memory; undefined where it lacks none, or there is none. */
export const auditLack = ({ audit }: Estimate): string | undefined =>
  audit && audit.needs > audit.left
    ? `${byteCount(audit.needs)} of memory for a second computation (memory leaves ${byteCount(audit.left)})`
    : undefined;

/** The estimate as rows of a table: what is held, phase by phase. */
export function memoryRows({ phases, checkpoint, lotBytes, microBatchTokens }: Estimate): [string, string][] {
  return [
    ...phases.flatMap(({ name, parts, bytes }): [string, string][] => [
      [name, byteCount(bytes)],
      ...parts.map((part): [string, string] => [`  ${part.name}`, byteCount(part.bytes)]),
    ]),
    ['decoded at once', `up to ${byteCount(lotBytes)} of cache and logits`],
    ...(microBatchTokens > 1 ? [['micro-batch', `${microBatchTokens} tokens`] as [string, string]] : []),
    ...(checkpoint > 0 ? [['a checkpoint', `${byteCount(checkpoint)} on the disk`] as [string, string]] : []),
  ];
}
