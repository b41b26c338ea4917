import type { RunReport } from 'grpo/studio';
import { SafeText } from '../../parts/safe-text.js';
import { SEVERITIES } from '../../parts/severity.js';
import { linkToPlace } from '../../route.js';
import type { ReportAnswer } from './use-report.js';

const MOST = 5;

/** The findings of a run, each with the step at which it begins. */
export function FindingList({ run, answer }: { run: string; answer: ReportAnswer }) {
  const { report, failure, isPending } = answer;
  if (failure)
    return (
      <p class="warn">
        Not judged: <SafeText text={failure.message} most={300} />
      </p>
    );
  if (!report)
    return (
      <p class="soft" role="status">
        {isPending ? 'The doctor reads the run …' : ''}
      </p>
    );
  return <Found run={run} report={report} />;
}

function Found({ run, report: { links, verdict } }: { run: string; report: RunReport }) {
  const all = linkToPlace({ run, view: 'findings' });
  if (links.length === 0)
    return (
      <p>
        <a href={all}>doctor</a>: <SafeText text={verdict} most={300} />
      </p>
    );
  return (
    <ul class="curves-findings" aria-label="findings">
      {links.slice(0, MOST).map(({ finding: { code, severity, steps }, label, says }) => (
        <li key={code}>
          <a class={severity} href={linkToPlace({ run, view: 'findings' }, { code })}>
            {SEVERITIES[severity].sign} {SEVERITIES[severity].word}
            {steps[0] !== undefined && `, step ${steps[0]}`}
          </a>{' '}
          <span title={label}>
            <SafeText text={says} most={500} />
          </span>
        </li>
      ))}
      {links.length > MOST && (
        <li>
          <a href={all}>all {links.length} findings</a>
        </li>
      )}
    </ul>
  );
}
