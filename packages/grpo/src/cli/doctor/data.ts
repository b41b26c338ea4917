/** A diagnosis as one JSON object for programs; its keys do not change. */
import type { Diagnosis } from '../../doctor/examine.js';
import { sentenceOf } from '../../doctor/registry.js';
import { jsonValue } from '../../formats/json.js';
import type { Examined } from './examined.js';

/** One line. Numbers that JSON lacks are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. */
export function jsonReport(examined: Examined, { findings, judgements }: Diagnosis): string {
  const told = findings.map((finding) => ({ ...finding, says: sentenceOf(finding) }));
  return `${JSON.stringify({ ...examined, findings: told, judgements }, jsonValue)}\n`;
}
