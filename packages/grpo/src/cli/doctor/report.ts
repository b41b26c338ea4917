/** A diagnosis in words: what the terminal and the page both say, before it is laid out. */
import type { Check } from '../../doctor/check.js';
import type { Diagnosis } from '../../doctor/examine.js';
import type { Finding } from '../../doctor/finding.js';
import { printable } from '../../errors/printable.js';
import { arrange } from './arrange.js';
import {
  coverage,
  type ExaminedReading,
  labelOf,
  notesOf,
  place,
  rerunOf,
  says,
  sourcesOf,
  stepsOf,
  summaryOf,
} from './examined.js';

/** A finding, its check, and all that is said of it. */
export interface ReportItem {
  finding: Finding;
  check: Check;
  /** Code and name. */
  label: string;
  /** The finding as one sentence. */
  says: string;
  steps: string | undefined;
  places: readonly string[];
  /** Other signs of the same fault. */
  signs: readonly ReportItem[];
  /** The parts of the run that the finding makes void. */
  rerun: string | undefined;
  sources: string;
}

export interface Section {
  title: string;
  findings: readonly ReportItem[];
  /** Whether each finding is shown in a sentence, without the rest. */
  brief: boolean;
}

export interface Report {
  path: string;
  summary: string;
  /** The finding that leads. */
  cause: ReportItem | undefined;
  /** Sentence for a report without a leading finding. */
  verdict: string;
  /** Whether anything could be judged. */
  judged: boolean;
  /** The other findings, in sections that are not empty. */
  sections: readonly Section[];
  /** How much was judged, how the files were read, and what was left out. */
  notes: readonly string[];
}

/** Puts a diagnosis into words. */
export function reportOf(
  examined: ExaminedReading,
  { findings, judgements }: Diagnosis,
  checks: readonly Check[],
): Report {
  const { cause, sign, follows, 'may follow': mayFollow, besides, 'to know': toKnow } = arrange(findings);
  const item = (finding: Finding) => itemOf(finding, checks);
  const section = (title: string, found: readonly Finding[], brief: boolean): Section[] =>
    found.length === 0 ? [] : [{ title, findings: found.map(item), brief }];
  const [leading] = cause.map(item);
  const judged = examined.isGrpo && judgements.some((judgement) => judgement.judged > 0);
  return {
    path: printable(examined.path, 300),
    summary: summaryOf(examined),
    cause: leading && { ...leading, signs: sign.map(item) },
    judged,
    verdict: judged ? 'The checks that could be made found nothing wrong.' : 'Nothing here can be judged.',
    sections: [
      ...section('This follows from it', follows, true),
      ...section('This may follow from it', mayFollow, true),
      ...section('This is also wrong', besides, false),
      ...section('For information', toKnow, true),
    ],
    notes: [...(judged ? [coverage(examined, judgements, checks)] : []), ...notesOf(examined)],
  };
}

function itemOf(finding: Finding, checks: readonly Check[]): ReportItem {
  const check = checks.find(({ code }) => code === finding.code)!;
  return {
    finding,
    check,
    label: labelOf(finding),
    says: says(finding),
    steps: stepsOf(finding),
    places: finding.evidence.map(place),
    signs: [],
    rerun: rerunOf(check),
    sources: sourcesOf(check),
  };
}
