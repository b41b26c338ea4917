import { join } from 'node:path';
import { type Diagnosis, examine } from '../../doctor/examine.js';
import { registry, sentenceOf } from '../../doctor/registry.js';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { type Reading, readRun } from '../../trace/readers/index.js';

/** What the doctor makes of a path. */
export interface Diagnosed extends Diagnosis {
  reading: Reading;
  /** Codes of what fails or warns, the cause first. */
  sick: string[];
  /** Codes of what is only mentioned. */
  told: string[];
  /** What the finding of a code says. */
  says(code: string): string;
}

export async function diagnose(path: string): Promise<Diagnosed> {
  const reading = await readRun(path);
  const { records, series, declared } = reading;
  const diagnosis = examine(
    { ...(records && { records }), ...(series && { series }), ...(declared && { declared }) },
    registry,
  );
  const codes = (wanted: (severity: string) => boolean) =>
    diagnosis.findings.filter(({ severity }) => wanted(severity)).map(({ code }) => code);
  return {
    ...diagnosis,
    reading,
    sick: codes((severity) => severity !== 'inform'),
    told: codes((severity) => severity === 'inform'),
    says: (code) => sentenceOf(diagnosis.findings.find((finding) => finding.code === code)!),
  };
}

/** A file of this content, diagnosed. */
export const diagnoseText = (name: string, text: string): Promise<Diagnosed> =>
  diagnose(join(folderOf({ [name]: text }), name));
