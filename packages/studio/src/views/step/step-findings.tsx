/** What the doctor says of a step: each phase, and its findings with links to where they were seen. */
import type { FindingLink, Requests } from 'grpo/studio';
import type { Answer } from '../../client.js';
import { SafeText } from '../../parts/safe-text.js';
import { Answered } from '../../parts/status.js';
import { linkTo } from '../../route.js';

type Whole = Requests['stepWhole']['output'];

export function StepFindings({ run, step, answer }: { run: string; step: number; answer: Answer<Whole> }) {
  return (
    <section class="step-findings" aria-label="findings">
      <Answered answer={answer}>
        {({ view, links }) => (
          <>
            <p class="step-phases">
              {view.verdicts.map((verdict) => (
                <PhaseMark key={verdict.phase} {...verdict} />
              ))}
            </p>
            {links.length > 0 && (
              <ul>
                {links.map((link) => (
                  <FindingItem key={link.finding.code} run={run} step={step} link={link} />
                ))}
              </ul>
            )}
          </>
        )}
      </Answered>
    </section>
  );
}

function PhaseMark({ phase, judged, checks, findings }: Whole['view']['verdicts'][number]) {
  const severities = findings.map(({ severity }) => severity);
  const [mark, kind] = severities.includes('fail')
    ? ['✕ fail', 'fail']
    : severities.includes('warn')
      ? ['⚠ warn', 'warn']
      : judged > 0
        ? ['✓ ok', 'good']
        : ['not judged', 'soft'];
  return (
    <span title={`${judged} of ${checks} checks could be judged`}>
      <span class="soft">{phase}</span> <span class={kind}>{mark}</span>
    </span>
  );
}

const SEVERITIES = { fail: ['✕ FAIL', 'fail'], warn: ['⚠ warn', 'warn'], inform: ['ℹ', 'soft'] } as const;

function FindingItem({ run, step, link }: { run: string; step: number; link: FindingLink }) {
  const { finding, label, says, places } = link;
  const [mark, kind] = SEVERITIES[finding.severity];
  return (
    <li>
      <strong class={kind}>{mark}</strong>{' '}
      <a href={linkTo(['run', run, 'findings'], { code: finding.code })}>{label}</a>{' '}
      <SafeText text={says} most={500} />
      {places.length > 0 && (
        <ul>
          {places.map(({ text, completion, token }) => (
            <li key={text}>
              {completion === undefined ? (
                <SafeText text={text} most={120} />
              ) : (
                <a href={linkTo(['run', run, 'step', step, 'completion', completion], { token })}>
                  <SafeText text={text} most={120} />
                </a>
              )}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
