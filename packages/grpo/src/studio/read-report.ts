import { rowText } from '../doctor/course/rows.js';
import type { Finding } from '../doctor/finding.js';
import type { Evidence } from '../doctor/outcome.js';
import { checkOf, registry } from '../doctor/registry.js';
import { completionNames } from '../view/completion-view.js';
import { examineReading } from '../view/report/examine-reading.js';
import { type ReportItem, reportOf } from '../view/report/report.js';
import { linkOf } from './finding-link.js';
import type { OpenRuns } from './open-runs.js';
import type { FindingLink, ReportedFinding, RunReport } from './requests.js';
import { headOf } from './steps/step-records.js';

/** Answers `report`: the doctor's report of a run. */
export async function readReport(runs: OpenRuns, { run }: { run: string }): Promise<RunReport> {
  const reading = await runs.reading(run);
  return runs.once('report', run, async () => {
    const { examined, diagnosis } = examineReading(run, reading);
    const { cause, ...report } = reportOf(examined, diagnosis, registry);
    const metrics = new Set(reading.series?.entries.flatMap(({ values }) => Object.keys(values)));
    const nameOf = await namesOf(runs, run, diagnosis.findings);
    const link = (finding: Finding) => linkOf(finding, metrics, nameOf);
    const reported = (item: ReportItem) => reportedOf(item, link);
    return {
      summary: report.summary,
      verdict: report.verdict,
      isSound: report.isSound,
      ...(cause && { cause: reported(cause) }),
      sections: report.sections.map(({ title, brief, findings }) => ({
        title,
        brief,
        findings: findings.map(reported),
      })),
      course: report.course.map((row) => {
        const [name, levels, change] = rowText(row);
        return { metric: row.metric, name, levels, change };
      }),
      notes: report.notes,
      checks: diagnosis.judgements.map(({ code, verdict, judged, missing }) => ({
        code,
        verdict,
        judged,
        missing: judged === 0 && missing.length === 0 ? [MATERIAL[checkOf(code).scope]] : missing,
        title: checkOf(code).title,
      })),
      links: diagnosis.findings.map(link),
    };
  });
}

/** The material of a check, named as missing where there was none at all. */
const MATERIAL = { step: 'step records', run: 'step records', log: 'a log of metrics' } as const;

/** Names of the completions that findings cite: `1.2`, as the views of their step have them. */
async function namesOf(
  runs: OpenRuns,
  run: string,
  findings: readonly Finding[],
): Promise<(one: Evidence) => string | undefined> {
  const cited = findings
    .flatMap(({ evidence }) => evidence)
    .flatMap(({ step, completion }) => (step === undefined || completion === undefined ? [] : [step]));
  const names = new Map<number, string[]>();
  for (const step of new Set(cited)) {
    const { record } = await headOf(runs, { run, step });
    names.set(step, completionNames(record.completions?.prompt ?? []));
  }
  return ({ step = -1, completion = -1 }) => names.get(step)?.[completion];
}

function reportedOf(item: ReportItem, link: (finding: Finding) => FindingLink): ReportedFinding {
  const { finding, check, signs, steps, rerun, sources } = item;
  const { title, threshold, remedy, settles, proofs } = check;
  return {
    ...link(finding),
    title,
    threshold,
    remedy,
    sources,
    proofs,
    ...(settles !== undefined && { settles }),
    ...(steps !== undefined && { steps }),
    ...(rerun !== undefined && { rerun }),
    metrics: check.scope === 'log' ? metricsOf(finding.evidence, check.needs) : [],
    signs: signs.map((sign) => reportedOf(sign, link)),
  };
}

/** Metrics that a check needs and its evidence names: as its text, or as the name of a value. */
function metricsOf(evidence: ReportItem['finding']['evidence'], needs: readonly string[]): readonly string[] {
  const cited = evidence.flatMap(({ text, values }) => [
    ...(text === undefined ? [] : [text]),
    ...Object.keys(values ?? {}),
  ]);
  return [...new Set([...cited, ...needs])];
}
