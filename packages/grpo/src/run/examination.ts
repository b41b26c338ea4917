import type { Config } from '../config/schema.js';
import { examine } from '../doctor/examine.js';
import type { Finding } from '../doctor/finding.js';
import { registry, sentenceOf } from '../doctor/registry.js';
import type { ProbeScoring } from '../observe/probes.js';
import { type StepRecord, writeStepRecord } from '../trace/index.js';
import type { RunFolder } from './folder/run-folder.js';
import type { StepTurn } from './run-steps.js';

/** Steps of a run in which what fails stops it, unless checks are off, and that are always recorded. */
const STRICT_STEPS = 2;

/** Steps between probes of what agrees: a probe scores a row more than the step, which costs much of a small batch. */
const PROBE_EVERY = 16;

// What the clock says does not follow from settings and seed, as all rows do: `grpo doctor` asks it of the records.
const checks = registry.filter((check) => check.scope === 'step' && !check.needs.includes('stages'));

/** What the doctor says of a step. */
export interface StepVerdict {
  /** What to tell: findings that the step before did not have. */
  news: string[];
  /** Why the run is to end after this step. */
  stop: Finding | undefined;
}

/** Examines the steps of a run, writes their findings down, and keeps the records that are worth keeping. */
export class Examination {
  private constructor(
    private readonly config: Pick<Config, 'doctor' | 'record'>,
    private readonly folder: RunFolder,
    /** Codes of what was found in the step before. */
    private last: ReadonlySet<unknown>,
  ) {}

  /** @param done - steps that the run has done: what the last of them had is no news after a resume */
  static async after(
    done: number,
    config: Pick<Config, 'doctor' | 'record'>,
    folder: RunFolder,
  ): Promise<Examination> {
    const rows = await folder.findingsOf(done);
    const sick = rows.filter(({ severity }) => severity !== 'inform');
    return new Examination(config, folder, new Set(sick.map(({ code }) => code)));
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

  /** Whether a step, counted from 1, is audited: fixed ones, and those between which the run's state goes through a file. */
  audits(step: number, { isFirst, isSaved }: StepTurn): boolean {
    return this.isAuditDue(step) || (this.isAudited && (isFirst || isSaved));
  }

  /** Whether a step is one of the fixed ones that are audited. */
  private isAuditDue(step: number): boolean {
    return this.isAudited && (step <= STRICT_STEPS || step % this.config.doctor.every === 0);
  }

  private get isAudited(): boolean {
    const { every, onFinding } = this.config.doctor;
    return every > 0 && onFinding !== 'off';
  }

  /** Examines one step. */
  step(record: StepRecord): StepVerdict {
    const { onFinding } = this.config.doctor;
    const findings = onFinding === 'off' ? [] : examine({ records: [record] }, checks).findings;
    const sick = findings.filter(({ severity }) => severity !== 'inform');
    const news = sick.filter(({ code }) => !this.last.has(code));
    this.last = new Set(sick.map(({ code }) => code));
    const { step } = record;
    this.folder.findings(findings.map(({ steps: _, judged: __, ...finding }) => ({ step, ...finding })));
    const isNews = news.length > 0;
    // Other audits depend on when the run was stopped or saved, and a resumed run leaves the same records.
    const { audit: _, ...unaudited } = record;
    const kept = isNews || this.isAuditDue(step) ? record : unaudited;
    if (isNews || this.isDue(step)) writeStepRecord(this.folder.stepFolder(step), kept);
    const strict = onFinding === 'stop' || (onFinding === 'warn' && step <= STRICT_STEPS);
    return {
      news: news.map(
        (finding) => `step ${step}: ${finding.code} ${finding.severity}: ${sentenceOf(finding)}`,
      ),
      stop: strict ? sick.find(({ severity }) => severity === 'fail') : undefined,
    };
  }
}
