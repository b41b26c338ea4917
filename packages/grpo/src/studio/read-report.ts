import { rowText } from '../doctor/course/rows.js';
import { checkOf, registry } from '../doctor/registry.js';
import { examineReading } from '../view/report/examine-reading.js';
import { type ReportItem, reportOf } from '../view/report/report.js';
import { linkOf } from './finding-link.js';
import type { OpenRuns } from './open-runs.js';
import type { ReportedFinding, RunReport } from './requests.js';

/** Answers `report`: the doctor's report of a run. */
export async function readReport(runs: OpenRuns, { run }: { run: string }): Promise<RunReport> {
  const reading = await runs.reading(run);
  return runs.once('report', run, () => {
    const { examined, diagnosis } = examineReading(run, reading);
    const { cause, ...report } = reportOf(examined, diagnosis, registry);
    const metrics = new Set(reading.series?.entries.flatMap(({ values }) => Object.keys(values)));
    const reported = (item: ReportItem) => reportedOf(item, metrics);
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
      links: diagnosis.findings.map((finding) => linkOf(finding, metrics)),
    };
  });
}

/** The material of a check, named as missing where there was none at all. */
const MATERIAL = { step: 'step records', run: 'step records', log: 'a log of metrics' } as const;

function reportedOf(item: ReportItem, metrics: ReadonlySet<string>): ReportedFinding {
  const { finding, check, signs, steps, rerun, sources } = item;
  const { title, threshold, remedy, settles, proofs } = check;
  return {
    ...linkOf(finding, metrics),
    title,
    threshold,
    remedy,
    sources,
    proofs,
    ...(settles !== undefined && { settles }),
    ...(steps !== undefined && { steps }),
    ...(rerun !== undefined && { rerun }),
    metrics: check.scope === 'log' ? metricsOf(finding.evidence, check.needs) : [],
    signs: signs.map((sign) => reportedOf(sign, metrics)),
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
