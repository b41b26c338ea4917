import type { RunCurves } from 'grpo/studio';
import { useMemo } from 'preact/hooks';
import { useAnswers } from '../../client.js';
import { splitIds } from '../../parts/run-ids.js';
import { SafeText } from '../../parts/safe-text.js';
import { Answered } from '../../parts/status.js';
import type { Route } from '../../route.js';
import { Charts } from './charts.js';
import { FindingList } from './finding-list.js';
import { OverlaidRuns } from './overlaid-runs.js';
import { useReport } from './use-report.js';
import './curves.css';
import { wholeNumber } from '../../parts/numbers.js';

export function CurvesView({ run, query }: { run: string; query: Route['query'] }) {
  const ids = [...new Set([run, ...splitIds(query.with)])];
  const answers = useAnswers(
    'curves',
    ids.map((id) => ({ run: id })),
  );
  const [own, ...others] = answers;
  const report = useReport(run, own!.value);
  const loaded = new Map(ids.flatMap((id, i) => (answers[i]!.value ? [[id, answers[i]!.value!]] : [])));
  const shown = [...loaded.values()];
  // The same runs with the same numbers are the same list.
  const runs = useMemo(() => shown, shown);
  return (
    <div class="curves">
      <header class="curves-head">
        <OverlaidRuns ids={ids} loaded={loaded} />
        {own!.value && <State curves={own!.value} />}
      </header>
      {others.map((answer, i) =>
        answer.value ? null : (
          <div key={ids[i + 1]}>
            <SafeText text={ids[i + 1]!} most={200} />
            <Answered answer={answer}>{() => null}</Answered>
          </div>
        ),
      )}
      <Answered answer={own!}>
        {(curves) => (
          <>
            <FindingList run={run} answer={report} />
            <Charts run={run} runs={runs} curves={curves} links={report.report?.links} query={query} />
          </>
        )}
      </Answered>
    </div>
  );
}

function State({ curves: { entry, notes, records } }: { curves: RunCurves }) {
  const { state, step, steps, kind } = entry;
  return (
    <div class="soft curves-state">
      {state !== 'unknown' && <b class={`curves-${state}`}>{state}</b>}{' '}
      {step !== undefined && `step ${wholeNumber(step)}`}
      {steps !== undefined && ` of ${wholeNumber(steps)}`}
      {step !== undefined && ' · '}
      {records.length === 0 ? 'no step has a record' : recordText(records)} ·{' '}
      <SafeText text={kind} most={100} />
      {notes.length > 0 && (
        <details>
          <summary>how it was read</summary>
          <ul>
            {notes.map((note) => (
              <li key={note}>
                <SafeText text={note} most={500} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function recordText(records: RunCurves['records']): string {
  const whole = records.filter(({ isWhole }) => isWhole).length;
  const text = (count: number, what: string) => `${wholeNumber(count)} ${what}`;
  return whole === records.length
    ? text(whole, 'recorded steps')
    : `${text(whole, 'recorded steps')}, ${text(records.length - whole, 'with texts only')}`;
}
