/** A finding: its sentence, then its steps, places, remedy and proof. */
import type { FindingLink, ReportedFinding } from 'grpo/studio';
import type { ComponentChildren } from 'preact';
import { PlaceLink } from '../../parts/place-link.js';
import { SafeText } from '../../parts/safe-text.js';
import { SEVERITIES } from '../../parts/severity.js';
import { linkToPlace } from '../../route.js';
import { CitedCurves } from './cited-curves.js';

interface ArticleProps {
  run: string;
  item: ReportedFinding;
  /** Whether all but the sentence is folded. */
  brief: boolean;
  /** The code that the address names. */
  chosen: string | undefined;
}

export function FindingArticle({ run, item, brief, chosen }: ArticleProps) {
  const { finding, says, signs } = item;
  const { code, severity } = finding;
  const isChosen = code === chosen || signs.some((sign) => sign.finding.code === chosen);
  return (
    <article
      class={`findings-article findings-${severity}`}
      id={code}
      aria-current={isChosen ? 'true' : undefined}
    >
      <p class="findings-head">
        <strong class="findings-severity">{SEVERITIES[severity].word.toUpperCase()}</strong>{' '}
        <FindingCode run={run} item={item} />
      </p>
      <p class="findings-says">
        <SafeText text={says} />
      </p>
      {brief ? (
        <details open={isChosen}>
          <summary>details</summary>
          <Details run={run} item={item} />
        </details>
      ) : (
        <Details run={run} item={item} />
      )}
    </article>
  );
}

/** Links to the finding itself, so that it can be passed on. */
const FindingCode = ({ run, item }: { run: string; item: FindingLink }) => (
  <a class="mono" href={linkToPlace({ run, view: 'findings' }, { code: item.finding.code })}>
    {item.label}
  </a>
);

function Details({ run, item }: { run: string; item: ReportedFinding }) {
  const { finding, places, signs, proofs } = item;
  return (
    <>
      <CitedCurves run={run} items={[item, ...signs]} />
      <dl class="findings-details">
        <Row name="steps">{item.steps}</Row>
        {places.length > 0 && (
          <Row name="where">
            <ul>
              {places.map((place) => (
                <li key={place.text}>
                  <PlaceLink run={run} code={finding.code} place={place} />
                </li>
              ))}
            </ul>
          </Row>
        )}
        {signs.length > 0 && (
          <Row name="seen too">
            <ul>
              {signs.map((sign) => (
                <li key={sign.finding.code} id={sign.finding.code}>
                  <SafeText text={sign.says} /> <FindingCode run={run} item={sign} />
                  <ul>
                    {sign.places.map((place) => (
                      <li key={place.text}>
                        <PlaceLink run={run} code={sign.finding.code} place={place} />
                      </li>
                    ))}
                  </ul>
                </li>
              ))}
            </ul>
          </Row>
        )}
        <Row name="do">{item.remedy}</Row>
        <Row name="to be sure">{item.settles}</Row>
        <Row name="run again">{item.rerun}</Row>
        <Row name="must hold">{item.title}</Row>
        <Row name="test">{item.threshold}</Row>
        <Row name="source">{item.sources}</Row>
        <Row name="proved with">
          {proofs.join(', ') || 'No run with this fault has shown that the check finds it. It warns at most.'}
        </Row>
      </dl>
    </>
  );
}

const Row = ({ name, children }: { name: string; children: ComponentChildren }) =>
  children === undefined ? null : (
    <>
      <dt>{name}</dt>
      <dd>{typeof children === 'string' ? <SafeText text={children} /> : children}</dd>
    </>
  );
