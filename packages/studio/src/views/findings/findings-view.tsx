/** The doctor's report of a run: the cause first, and links to the places that findings cite. */
import type { ReportedFinding, RunReport } from 'grpo/studio';
import { useEffect } from 'preact/hooks';
import { useAnswer } from '../../client.js';
import { lastName } from '../../parts/run-ids.js';
import { SafeText } from '../../parts/safe-text.js';
import { Answered } from '../../parts/status.js';
import { linkToPlace, type Route } from '../../route.js';
import { CheckTables } from './check-tables.js';
import { FindingArticle } from './finding-article.js';
import './findings.css';

/** `?code=B38.repeat` opens at a finding. */
export function FindingsView({ run, query }: { run: string; query: Route['query'] }) {
  return (
    <>
      <h1>
        Findings of <SafeText text={lastName(run)} most={200} />
      </h1>
      <Answered answer={useAnswer('report', { run })}>
        {(report) => <ReportOf run={run} report={report} chosen={query.code} />}
      </Answered>
    </>
  );
}

function ReportOf({ run, report, chosen }: { run: string; report: RunReport; chosen: string | undefined }) {
  const { summary, cause, verdict, isSound, sections, notes, checks } = report;
  useEffect(() => {
    if (chosen !== undefined) document.getElementById(chosen)?.scrollIntoView({ block: 'start' });
  }, [chosen]);
  const article = (item: ReportedFinding, brief = false) => (
    <FindingArticle key={item.finding.code} run={run} item={item} brief={brief} chosen={chosen} />
  );
  return (
    <>
      <p class="soft">
        <SafeText text={summary} />
      </p>
      {cause ? (
        article(cause)
      ) : (
        <p class={`findings-verdict ${isSound ? 'good' : 'warn'}`}>
          <SafeText text={verdict} />
        </p>
      )}
      {sections.map(({ title, brief, findings }) => (
        <section key={title}>
          <h2>{title}</h2>
          {findings.map((item) => article(item, brief))}
        </section>
      ))}
      <Course run={run} rows={report.course} />
      <h2>What was judged</h2>
      {notes.map((note) => (
        <p class="soft" key={note}>
          <SafeText text={note} />
        </p>
      ))}
      <CheckTables checks={checks} />
    </>
  );
}

function Course({ run, rows }: { run: string; rows: RunReport['course'] }) {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>Course of the run</h2>
      <table class="findings-course">
        <thead>
          <tr>
            <th scope="col">quantity</th>
            <th scope="col">first eighth → last</th>
            <th scope="col">change</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ metric, name, levels, change }) => (
            <tr key={metric}>
              <td>
                <a href={linkToPlace({ run }, { filter: metric })}>
                  <SafeText text={name} most={120} />
                </a>
              </td>
              <td>{levels}</td>
              <td>{change}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
