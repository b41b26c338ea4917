import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Message } from './message.js';

/** Fixture of `parity/make_text_fixtures.py` for one family. */
export interface TextCases {
  vocabSize: number;
  bosId: number | null;
  eosId: number | null;
  padId: number | null;
  specialIds: number[];
  /** A field is absent where it equals the plain one. */
  strings: { text: string; ids: number[]; withSpecials?: number[]; decoded?: string; skipped?: string }[];
  conversations: {
    messages: Message[];
    tools?: unknown[];
    variables?: Record<string, unknown>;
    /** With and without the generation prompt. */
    open: { text: string; ids: number[] };
    closed: { text: string; ids: number[] };
  }[];
}

export const FAMILIES = ['gpt2', 'llama3', 'qwen2', 'qwen3'] as const;
export type Family = (typeof FAMILIES)[number];

export function fixtureFolder(family: Family): string {
  return fileURLToPath(new URL(`../../../../parity/fixtures/text/${family}`, import.meta.url));
}

export function fixtureCases(family: Family): TextCases {
  return JSON.parse(readFileSync(`${fixtureFolder(family)}/cases.json`, 'utf8')) as TextCases;
}
