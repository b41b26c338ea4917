/** A diagnosis in words: what the terminal and the page both say, before it is laid out. */
import type { Check } from '../../doctor/check.js';
import { type CourseRow, courseRows } from '../../doctor/course/rows.js';
import type { Diagnosis } from '../../doctor/examine.js';
import type { Finding } from '../../doctor/finding.js';
import { littleOf, type Verdict, verdictOf } from '../../doctor/verdict.js';
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
  unreadNote,
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
  /** Whether it was judged, and nothing was found. */
  isSound: boolean;
  /** What moved over the run, and when; empty without a log of several entries. */
  course: readonly CourseRow[];
  /** The other findings, in sections that are not empty. */
  sections: readonly Section[];
  /** How much was judged, how the files were read, and what was left out. */
  notes: readonly string[];
}

/** Puts a diagnosis into words. */
export function reportOf(examined: ExaminedReading, diagnosis: Diagnosis, checks: readonly Check[]): Report {
  const { findings, judgements, course, unread } = diagnosis;
  const { cause, sign, follows, 'may follow': mayFollow, besides, 'to know': toKnow } = arrange(findings);
  const isWorth = course !== undefined && (course.learnt || course.isHigh);
  const item = (finding: Finding) => itemOf(finding, checks, isWorth);
  const section = (title: string, found: readonly Finding[], brief: boolean): Section[] =>
    found.length === 0 ? [] : [{ title, findings: found.map(item), brief }];
  const [leading] = cause.map(item);
  const isSure = cause[0]?.severity === 'fail';
  const verdict = verdictOf(diagnosis);
  const crash = examined.crash === undefined ? [] : [examined.crash];
  const judged = examined.isGrpo && verdict !== 'not judged';
  return {
    path: printable(examined.path, 300),
    summary: summaryOf(examined),
    cause: leading && { ...leading, signs: sign.map(item) },
    judged,
    verdict: [...crash, sentenceFor(verdict, diagnosis)].join(' '),
    isSound: verdict === 'nothing found' && crash.length === 0,
    course: course ? courseRows(course) : [],
    sections: [
      // What only warns may be wrong about the cause, too.
      ...section('This follows from it', isSure ? follows : [], true),
      ...section('This may follow from it', isSure ? mayFollow : [...follows, ...mayFollow], true),
      ...section('This is also wrong', besides, false),
      // Where nothing leads and little was judged, notes are all that a reader gets.
      ...section(verdict === 'too little to judge' ? 'What stands out' : 'For information', toKnow, true),
    ],
    notes: [
      ...(judged ? [coverage(examined, judgements, checks)] : []),
      // A finding takes the place of the verdict.
      ...(leading ? crash : []),
      ...(judged ? unreadNote(unread) : []),
      ...notesOf(examined),
    ],
  };
}

function sentenceFor(verdict: Verdict, diagnosis: Diagnosis): string {
  if (verdict === 'not judged') return 'Nothing here can be judged.';
  if (verdict === 'too little to judge') return littleOf(diagnosis);
  return 'The checks that could be made found nothing wrong.';
}

/** @param isWorth - whether the log shows that the run learnt: then nothing in the log makes its checkpoints void */
function itemOf(finding: Finding, checks: readonly Check[], isWorth: boolean): ReportItem {
  const check = checks.find(({ code }) => code === finding.code)!;
  return {
    finding,
    check,
    label: labelOf(finding),
    says: says(finding),
    steps: stepsOf(finding),
    places: finding.evidence.map((one) => place(one)),
    signs: [],
    rerun: check.scope === 'log' && isWorth ? undefined : rerunOf(check),
    sources: sourcesOf(check),
  };
}
