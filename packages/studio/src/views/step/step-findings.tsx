/** The doctor's verdict on each phase of a step, and its findings with links to where they were seen. */
import type { FindingLink, Requests } from 'grpo/studio';
import type { Answer } from '../../client.js';
import { PlaceLink } from '../../parts/place-link.js';
import { SafeText } from '../../parts/safe-text.js';
import { SEVERITIES } from '../../parts/severity.js';
import { Answered } from '../../parts/status.js';
import { linkToPlace } from '../../route.js';

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
  const worst = (['fail', 'warn'] as const).find((one) => findings.some(({ severity }) => severity === one));
  const [mark, kind] = worst
    ? [`${SEVERITIES[worst].sign} ${SEVERITIES[worst].word}`, SEVERITIES[worst].kind]
    : judged > 0
      ? ['✓ ok', 'good']
      : ['not judged', 'soft'];
  return (
    <span title={`${judged} of ${checks} checks could be judged`}>
      <span class="soft">{phase}</span> <span class={kind}>{mark}</span>
    </span>
  );
}

function FindingItem({ run, step, link }: { run: string; step: number; link: FindingLink }) {
  const { finding, label, says, places } = link;
  const { sign, word, kind } = SEVERITIES[finding.severity];
  return (
    <li>
      <strong class={kind}>
        {sign} {word}
      </strong>{' '}
      <a href={linkToPlace({ run, view: 'findings' }, { code: finding.code })}>{label}</a>{' '}
      <SafeText text={says} most={500} />
      {places.length > 0 && (
        <ul>
          {places.map((place) => (
            <li key={place.text}>
              {place.completion === undefined ? (
                <SafeText text={place.text} most={120} />
              ) : (
                <PlaceLink run={run} code={finding.code} place={{ step, ...place }} />
              )}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
