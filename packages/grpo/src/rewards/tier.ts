/** Tiers of rows: `C`, or with the hash of the row's question `C:<sha1>`, so that no row gets another's tier. */
import { createHash } from 'node:crypto';

/** Penalties of a tier. */
export interface TierPenalty {
  /** Factor of the part `missed`: a required thing was missing. */
  missed: number;
  /** Factor of the part `over`: the thing was there without need. */
  over: number;
}

export type Tiers = Readonly<Record<string, TierPenalty>>;

/** A tier or scope of a row. */
export interface Label {
  label: string;
  /** SHA-1 of the question's UTF-8, where the row has it. */
  sha1: string | undefined;
}

/** Reads `C` or `C:<40 hexadecimal digits>`; undefined for anything else. */
export function parseLabel(value: unknown): Label | undefined {
  const match = typeof value === 'string' ? /^([^:\s]+)(?::([0-9a-f]{40}))?$/.exec(value) : null;
  return match ? { label: match[1]!, sha1: match[2] } : undefined;
}

/** The hash that the label of a question's row has. */
export const questionHash = (question: string): string =>
  createHash('sha1').update(question, 'utf8').digest('hex');
