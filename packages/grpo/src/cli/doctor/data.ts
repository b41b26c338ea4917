/** A diagnosis as one JSON object for programs; its keys do not change. */
import type { Diagnosis } from '../../doctor/examine.js';
import { checkOf, entryOf, sentenceOf } from '../../doctor/registry.js';
import { jsonValue } from '../../formats/json.js';
import type { ExaminedReading } from './examined.js';

/** One line. Numbers that JSON lacks are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. */
export function jsonReport(examined: ExaminedReading, { findings, judgements }: Diagnosis): string {
  const told = findings.map((finding) => ({
    ...finding,
    name: entryOf(finding.code).name,
    proved: checkOf(finding.code).proofs.length > 0,
    says: sentenceOf(finding),
  }));
  return `${JSON.stringify({ ...examined, findings: told, judgements }, jsonValue)}\n`;
}
