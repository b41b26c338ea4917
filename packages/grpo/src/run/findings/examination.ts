import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.js';
import { isAudited } from '../../config/sections/progress.js';
import { type Diagnosis, examine } from '../../doctor/examine.js';
import type { Finding } from '../../doctor/finding.js';
import { findingLine } from '../../doctor/finding-line.js';
import { audits, checkOf, registry } from '../../doctor/registry.js';
import type { StepRow } from '../../formats/jsonl.js';
import type { MetricsRow } from '../../observe/metrics.js';
import type { ProbeScoring } from '../../observe/probes.js';
import {
  type MetricsEntry,
  ownSeries,
  readStepRecord,
  type StepRecord,
  writeStepRecord,
} from '../../trace/index.js';
import { STEP_JSON } from '../../trace/write.js';
import type { RunFolder } from '../folder/run-folder.js';
import type { StepTurn } from '../run-steps.js';
import { STRICT_STEPS, stopFor } from './finding-rules.js';
import { FindingWatch, QUIET, type Seen } from './finding-watch.js';

/** Steps between probes of what agrees: a probe scores a row more than the step, which costs much of a small batch. */
const PROBE_EVERY = 16;

/** Rows from which on all of the log is judged: a model that has hardly begun to learn looks sick. Identities hold at once. */
const FIRST_ROWS = 16;

/** Rows up to which the log is judged after each step; later it is after some, the fewer the longer the log is. */
const ROWS = 256;

// What the clock says, and what an audit lacks after a resume, do not follow from settings and seed, as all rows do:
// `grpo doctor` asks it of the records.
const checks = registry.filter(
  (check) =>
    check.scope === 'log' || (check.scope === 'step' && !check.needs.includes('stages') && !check.aside),
);

/** Checks that also judge a run with fewer rows than that. */
const early = checks.filter(({ scope, kind }) => scope === 'step' || kind === 'identity');

const NOTHING: Pick<Diagnosis, 'findings' | 'judgements'> = { findings: [], judgements: [] };

/** What the doctor says of a step. */
export interface StepVerdict {
  /** What to tell: findings that begin, change or end. */
  news: string[];
  /** Why the run is to end after this step. */
  stop: Finding | undefined;
}

/** Examines the steps of a run, writes their findings down, and keeps the records that are worth keeping. */
export class Examination {
  private constructor(
    private readonly config: Pick<Config, 'doctor' | 'record'>,
    private readonly folder: RunFolder,
    private readonly watch: FindingWatch,
    private readonly entries: MetricsEntry[],
  ) {}

  /** @param done - steps that the run has done: what they had is no news after a resume */
  static async after(
    done: number,
    config: Pick<Config, 'doctor' | 'record'>,
    folder: RunFolder,
  ): Promise<Examination> {
    const watch = new FindingWatch();
    const found = Array.from({ length: done + 1 }, (): Seen[] => []);
    for (const row of await folder.rowsOf('findings.jsonl'))
      if (row.severity !== 'inform') found[row.step]!.push(row as unknown as Seen);
    for (let step = 1; step <= done; step++) watch.see(step, found[step]!);
    const entries = (await folder.rowsOf('metrics.jsonl')).map(entryOf);
    return new Examination(config, folder, watch, entries);
  }

  /** Whether the record of a step, counted from 1, is needed at all. */
  wants(step: number): boolean {
    return this.config.doctor.onFinding !== 'off' || this.isDue(step);
  }

  /** Whether the record of a step is kept whatever it holds. */
  private isDue(step: number): boolean {
    const { every } = this.config.record;
    return step <= STRICT_STEPS || (every > 0 && step % every === 0) || this.isAuditDue(step);
  }

  /** Whether a step is to score a completion again; what agrees only in some of the steps that are kept. */
  probes(step: number): ProbeScoring {
    if (!this.isDue(step)) return false;
    const every = this.config.record.every || this.config.doctor.every;
    const isProbed = step <= STRICT_STEPS || step % (every * Math.ceil(PROBE_EVERY / every)) === 0;
    return isProbed || 'where they differ';
  }

  /** Whether a step, counted from 1, is audited as a whole: fixed ones, and those between which the run's state goes through a file. */
  audits(step: number, { isFirst, isSaved }: StepTurn): boolean {
    return this.isAuditDue(step) || (isAudited(this.config) && (isFirst || isSaved));
  }

  /** The record without what depends on when the run was stopped or saved: a resumed run leaves the same records. */
  private withoutCircumstances({ audit, ...record }: StepRecord): StepRecord {
    if (!audit || !this.isAuditDue(record.step)) return record;
    const comparisons = audit.comparisons.filter(({ handOver }) => handOver !== 'checkpoint');
    const missing = audit.missing.filter(({ handOver }) => handOver !== 'checkpoint');
    return { ...record, audit: { ...audit, comparisons, missing } };
  }

  /** Whether a step is one of the fixed ones that are audited, however often the run was stopped or saved. */
  isAuditDue(step: number): boolean {
    return isAudited(this.config) && (step <= STRICT_STEPS || step % this.config.doctor.every === 0);
  }

  /**
   * Examines one step, and the log up to it.
   *
   * @param metrics - the step's row; there is none of a step that failed
   */
  step(record: StepRecord, metrics?: MetricsRow): StepVerdict {
    const { onFinding } = this.config.doctor;
    const { step, declared } = record;
    if (metrics) this.entries.push(entryOf(metrics));
    const material = {
      records: [record],
      ...(this.isLogDue() && { series: ownSeries(this.entries) }),
      ...(declared && { declared }),
    };
    const due = this.entries.length < FIRST_ROWS ? early : checks;
    const { findings, judgements } = onFinding === 'off' ? NOTHING : examine(material, due);
    const isJudged = new Set(judgements.flatMap(({ code, judged }) => (judged > 0 ? [code] : [])));
    const sick = findings.filter(({ severity }) => severity !== 'inform');
    const { begun, again, changed, ended } = this.watch.see(step, sick);
    const told = new Set([...begun, ...changed.map(({ finding }) => finding)]);
    this.folder.findings(
      findings.map((finding) => {
        const { steps: _, judged: __, evidence, ...others } = finding;
        // A finding of the log has the same evidence on every step.
        const isShown = told.has(finding) || checkOf(finding.code).scope === 'step';
        return { step, ...others, ...(isShown && { evidence }) };
      }),
    );
    const isAuditTold = [...told].some(({ code }) => code.startsWith('H'));
    const kept = isAuditTold ? record : this.withoutCircumstances(record);
    if (told.size > 0 || this.isDue(step)) writeStepRecord(this.folder.stepFolder(step), kept);
    return {
      news: [
        ...begun.map((finding) => `step ${step}: ${findingLine(finding)}`),
        ...changed.map(
          ({ finding, before }) => `step ${step}: so far ${before}, now ${findingLine(finding)}`,
        ),
        // A check that was not made on this step cannot tell that its finding has ended.
        ...ended
          .filter(({ code }) => isJudged.has(code))
          .map(
            ({ code, first, last, steps }) =>
              `step ${step}: ${code} has ended; it was found on ${steps} of the steps ${first} to ${last}`,
          ),
      ],
      stop: stopFor(sick, step, onFinding, again),
    };
  }

  /** Examines what was tried before the first step, of which only what ends the run is told: that step finds the rest. */
  tried(record: StepRecord): StepVerdict {
    const findings = examine({ records: [record], declared: record.declared! }, checks).findings;
    const stop = stopFor(findings, 1, this.config.doctor.onFinding);
    const news = findings.filter(({ severity }) => stop && severity === stop.severity);
    const tell = (finding: Finding) => `preflight: ${findingLine(finding)} ${checkOf(finding.code).remedy}`;
    return { news: news.map(tell), stop };
  }

  /**
   * Examines what was audited beside the record of a step. What does not hold becomes part of that record.
   *
   * @param own - the head of the record, with the audit
   * @param when - begins what is told
   */
  audited(own: StepRecord, when: string): StepVerdict {
    const { step } = own;
    const findings = examine({ records: [own] }, audits).findings.filter(
      ({ severity }) => severity !== 'inform',
    );
    if (findings.length === 0) return { news: [], stop: undefined };
    this.watch.see(step, findings);
    this.folder.findings(findings.map(({ steps: _, judged: __, ...others }) => ({ step, ...others })));
    const folder = this.folder.stepFolder(step);
    writeStepRecord(
      folder,
      existsSync(join(folder, STEP_JSON)) ? withAudit(readStepRecord(folder), own) : own,
    );
    return {
      news: findings.map((finding) => `${when}: ${findingLine(finding)}`),
      stop: stopFor(findings, step, this.config.doctor.onFinding),
    };
  }

  /** Whether the log is judged after the step of its last row. */
  private isLogDue(): boolean {
    const { length } = this.entries;
    return length % Math.min(QUIET - 1, Math.ceil(length / ROWS)) === 0;
  }
}

/** The record with what another audit of it compared besides. */
export function withAudit(record: StepRecord, { audit: more }: Pick<StepRecord, 'audit'>): StepRecord {
  const { audit } = record;
  if (!audit || !more) return { ...record, ...(more && { audit: more }) };
  const comparisons = [...audit.comparisons, ...more.comparisons];
  return { ...record, audit: { ...audit, comparisons, missing: [...audit.missing, ...more.missing] } };
}

/** Numbers of a step's row; what a resumed run counts otherwise, tensors that are alive, is left out. */
function entryOf({ step, ...row }: StepRow): MetricsEntry {
  const numbers = Object.entries(row).filter(
    (pair): pair is [string, number] => Number.isFinite(pair[1]) && !pair[0].startsWith('live_'),
  );
  return { step, values: Object.fromEntries(numbers) };
}
