/** Runs checks over what a run left, and puts what was found into the order of diagnosis. */
import { Watch } from '../progress/watch.js';
import type { Declared, MetricSeries, MetricsEntry, StepRecord } from '../trace/index.js';
import type { Check, CheckCode, FaultCode, LogCheck, Observation, RunCheck, StepCheck } from './check.js';
import type { RunCourse } from './course/run-course.js';
import { type Finding, faultOf, type Severity } from './finding.js';
import { LogView } from './log-view.js';
import { type Found, type Measurements, notApplicable, type Outcome } from './outcome.js';
import { entryOf, seriesOfRecords } from './record-series.js';

/** What is examined. */
export interface Material {
  /** Read one at a time: each may be large. */
  records?: Iterable<StepRecord>;
  /** Without it, what the records tell takes its place. */
  series?: MetricSeries;
  declared?: Declared;
}

/** What one check came to over all that it was asked about. */
export interface Judgement {
  code: Check['code'];
  verdict: 'pass' | Severity | 'not applicable';
  /** How often it could be judged. */
  judged: number;
  /** What was missing where it could not. */
  missing: readonly string[];
  /** Of the last pass. */
  measured: Measurements;
}

export interface Diagnosis {
  /** The cause first. */
  findings: Finding[];
  /** Every check, in the order of the registry. */
  judgements: Judgement[];
  /** The course of the run; a single step has none. */
  course?: RunCourse;
  /** Metrics of a home-made log that no check has asked for. */
  unread: readonly string[];
  /** How many step records there were. */
  records: number;
}

const SEVERITIES: readonly Severity[] = ['fail', 'warn', 'inform'];

/** Examines a run with the given checks. */
export function examine(material: Material, checks: readonly Check[], watch = new Watch()): Diagnosis {
  const tallies = new Map(checks.map((check) => [check, new Tally(check)]));
  const stepChecks = checks.filter((check): check is StepCheck => check.scope === 'step');
  const runs = checks
    .filter((check): check is RunCheck => check.scope === 'run')
    .map((check) => new Run(check));
  const logChecks = checks.filter((check): check is LogCheck => check.scope === 'log');
  // A run hands its log over with each record.
  const makesLog = !material.series && logChecks.length > 0;
  const entries: MetricsEntry[] = [];
  let records = 0;
  let first: Declared | undefined;
  const total = Array.isArray(material.records) ? material.records.length : 0;
  const report = (done: number) => watch.report({ stage: 'doctor', done, total, unit: 'step records' });
  report(0);
  for (const record of material.records ?? []) {
    for (const [i, check] of stepChecks.entries()) {
      report(records + i / stepChecks.length);
      tallies.get(check)!.add(check.test(record), record.step);
    }
    for (const run of runs) run.see(record);
    if (makesLog) entries.push(entryOf(record));
    first ??= record.declared;
    records++;
  }
  for (const run of runs) tallies.get(run.check)!.add(run.outcome());
  const { series = entries.length > 1 ? seriesOfRecords(entries) : undefined, declared = first } = material;
  const log = series && new LogView(series, declared);
  if (log) {
    for (const check of logChecks) tallies.get(check)!.add(check.test(log));
  }
  const all = [...tallies.values()];
  return {
    findings: inOrder(
      all.flatMap((tally) => tally.finding() ?? []),
      checks,
    ),
    judgements: all.map((tally) => tally.judgement()),
    ...(log && { course: log.course }),
    unread: (material.series && log?.unread) ?? [],
    records,
  };
}

/** Collects what a check over a run keeps of each record. */
class Run {
  readonly #seen: Observation<unknown>[] = [];
  readonly #missing = new Set<string>();

  constructor(readonly check: RunCheck) {}

  see(record: StepRecord): void {
    const kept = this.check.see(record);
    if ('value' in kept) this.#seen.push({ step: record.step, value: kept.value });
    else for (const name of kept.missing) this.#missing.add(name);
  }

  outcome(): Outcome {
    if (this.#seen.length < 2) return notApplicable(...this.#missing, 'records of two steps');
    return this.check.test(this.#seen.sort((a, b) => a.step - b.step));
  }
}

/** Collects what one check says of many steps. */
class Tally {
  #judged = 0;
  #lastPassed = false;
  readonly #missing = new Set<string>();
  #passed: Measurements = {};
  readonly #found: { outcome: Found; step: number | undefined }[] = [];

  constructor(private readonly check: Check) {}

  add(outcome: Outcome, step?: number): void {
    if (outcome.verdict === 'not applicable') {
      for (const name of outcome.missing) this.#missing.add(name);
      return;
    }
    this.#judged++;
    this.#lastPassed = outcome.verdict === 'pass';
    if (outcome.verdict === 'pass') this.#passed = outcome.measured;
    else this.#found.push({ outcome: this.#asProved(outcome), step });
  }

  /** An unproved check does not fail a run. */
  #asProved(outcome: Found): Found {
    return outcome.verdict === 'fail' && this.check.proofs.length === 0
      ? { ...outcome, verdict: 'warn' }
      : outcome;
  }

  /** The worst that was found, with all steps on which anything was. */
  finding(): Finding | undefined {
    const worst = this.#worst();
    const severity = this.#severity();
    if (!worst || !severity) return undefined;
    const { code, level } = this.check;
    return {
      code,
      fault: faultOf(code),
      severity,
      level,
      steps: this.#found.flatMap(({ step }) => step ?? []),
      judged: this.#judged,
      measured: worst.outcome.measured,
      evidence: worst.outcome.evidence.map((item) =>
        worst.step === undefined ? item : { step: worst.step, ...item },
      ),
    };
  }

  judgement(): Judgement {
    const nothing = this.#judged === 0;
    return {
      code: this.check.code,
      verdict: nothing ? 'not applicable' : (this.#severity() ?? 'pass'),
      judged: this.#judged,
      missing: nothing ? [...this.#missing] : [],
      measured: this.#passed,
    };
  }

  #worst() {
    const ofVerdict = (severity: Severity) => this.#found.find(({ outcome }) => outcome.verdict === severity);
    return ofVerdict('fail') ?? ofVerdict('warn') ?? ofVerdict('inform');
  }

  #severity(): Severity | undefined {
    const verdict = this.#worst()?.outcome.verdict;
    const isPassing = this.check.scope === 'step' && this.check.byChance && this.#lastPassed;
    return isPassing && verdict === 'warn' ? 'inform' : verdict;
  }
}

/**
 * The cause first: what fails before what only warns, and among equals the earlier stage; before both what is known to
 * bring it about. What the cause is known to bring about is marked as its consequence; all else that comes later in the
 * order of diagnosis may be. In a log nothing follows from what began after it.
 */
function inOrder(findings: Finding[], checks: readonly Check[]): Finding[] {
  const rank = ({ severity }: Finding) => SEVERITIES.indexOf(severity);
  const all = [...findings].sort((a, b) => rank(a) - rank(b) || a.level - b.level);
  const [first] = all;
  if (!first) return all;
  const induced = new Map(checks.map(({ code, induces = [] }) => [code, induces]));
  if (first.severity === 'inform') {
    const cause = causeOf(first, all, induced);
    return [cause, ...all.filter((finding) => finding !== cause)];
  }
  const asides = new Set(checks.filter(({ aside }) => aside).map(({ code }) => code));
  const sorted = all.filter(({ code, severity }) => severity !== 'inform' || !asides.has(code));
  const cause = causeOf(first, sorted, induced);
  const consequences = sorted.filter((finding) => finding !== cause);
  const marked = consequences.map((finding): Finding => {
    const sure = isInduced(finding, induced.get(cause.code)!);
    const isApart = finding.fault === cause.fault || (!sure && finding.level <= cause.level);
    return isApart || beganBefore(finding, cause)
      ? finding
      : { ...finding, inducedBy: { code: cause.code, sure } };
  });
  return [cause, ...marked];
}

type Induced = readonly (FaultCode | CheckCode)[];

const isInduced = ({ fault, code }: Finding, by: Induced): boolean => by.includes(fault) || by.includes(code);

/** The step at which a finding of a log began: its first evidence has it. Of others nobody knows. */
const beginningOf = ({ steps, evidence }: Finding): number | undefined =>
  steps.length > 0 ? undefined : evidence[0]?.step;

/** Whether one finding of a log began before another. */
function beganBefore(one: Finding, other: Finding): boolean {
  const [a, b] = [one, other].map(beginningOf);
  return a !== undefined && b !== undefined && a < b;
}

/** Whether one finding of a log is known not to have begun after another. */
function beganNoLater(one: Finding, other: Finding): boolean {
  const [a, b] = [one, other].map(beginningOf);
  return a !== undefined && b !== undefined && a <= b;
}

/**
 * Finds the cause of a finding, as far back as is known: a warning of an earlier stage explains a failure of a later one, and
 * one of a later stage what began no earlier, since the steps of a run follow one another.
 */
function causeOf(finding: Finding, all: readonly Finding[], induced: Map<string, Induced>): Finding {
  const earlier = all
    .filter(({ severity }) => severity !== 'inform' || finding.severity === 'inform')
    .filter(
      (other) =>
        finding.severity === 'inform' || other.level <= finding.level || beganNoLater(other, finding),
    )
    .filter((other) => other.fault !== finding.fault && isInduced(finding, induced.get(other.code)!))
    // Two findings that cause each other explain nothing.
    .filter((other) => !isInduced(other, induced.get(finding.code)!))
    .filter((other) => !beganBefore(finding, other))
    .sort((a, b) => Number(beganBefore(b, a)) - Number(beganBefore(a, b)) || a.level - b.level);
  const [cause] = earlier;
  return cause
    ? causeOf(
        cause,
        all.filter((other) => other !== finding),
        induced,
      )
    : finding;
}
