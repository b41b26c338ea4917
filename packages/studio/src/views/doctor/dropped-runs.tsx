/** The dropped runs, each with its cause or the doctor's verdict. */
import type { RunEntry } from 'grpo/studio';
import { useAnswer } from '../../client.js';
import { SafeText } from '../../parts/safe-text.js';
import { SEVERITIES } from '../../parts/severity.js';
import { Answered, FailureBox } from '../../parts/status.js';
import { VirtualList } from '../../parts/virtual-list.js';
import { linkToPlace } from '../../route.js';

export function DroppedRuns() {
  return (
    <Answered answer={useAnswer('runs', {})}>
      {(runs) => (
        <>
          <h2>{runs.length === 1 ? 'One run' : `${runs.length} runs`}</h2>
          <VirtualList count={runs.length} estimate={64} label="runs">
            {(index) => <DroppedRun run={runs[index]!} />}
          </VirtualList>
        </>
      )}
    </Answered>
  );
}

const DroppedRun = ({ run: { id, name, problem } }: { run: RunEntry }) => (
  <div class="doctor-run">
    <a href={linkToPlace({ run: id, view: 'findings' })}>
      <SafeText text={name} most={200} />
    </a>
    {problem === undefined ? <Verdict run={id} /> : <FailureBox failure={{ message: problem }} />}
  </div>
);

function Verdict({ run }: { run: string }) {
  return (
    <Answered answer={useAnswer('report', { run })}>
      {({ cause, verdict, links }) => (
        <p class="doctor-verdict">
          {cause ? (
            <>
              <strong class={SEVERITIES[cause.finding.severity].kind}>
                {SEVERITIES[cause.finding.severity].word.toUpperCase()}
              </strong>{' '}
              <SafeText text={cause.says} />
              {links.length > 1 && <span class="soft"> And {links.length - 1} more.</span>}
            </>
          ) : (
            <SafeText text={verdict} />
          )}
        </p>
      )}
    </Answered>
  );
}
