/** A diagnosis as one JSON object for programs; its keys do not change. */
import { courseRows } from '../../doctor/course/rows.js';
import type { Diagnosis } from '../../doctor/examine.js';
import { checkOf, entryOf, sentenceOf } from '../../doctor/registry.js';
import { verdictOf } from '../../doctor/verdict.js';
import { jsonValue } from '../../formats/json.js';
import type { ExaminedReading } from '../../view/report/examined.js';

/** One line. Numbers that JSON lacks are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. */
export function jsonReport(examined: ExaminedReading, diagnosis: Diagnosis): string {
  const { findings, judgements, course } = diagnosis;
  const told = findings.map((finding) => ({
    ...finding,
    name: entryOf(finding.code).name,
    proved: checkOf(finding.code).proofs.length > 0,
    says: sentenceOf(finding),
  }));
  const summary = {
    ...examined,
    outcome: verdictOf(diagnosis),
    steps: course?.steps ?? 0,
    course: course ? courseRows(course) : [],
  };
  return `${JSON.stringify({ ...summary, findings: told, judgements }, jsonValue)}\n`;
}
