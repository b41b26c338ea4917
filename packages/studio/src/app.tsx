/** The frame around all views, and the view of each address. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useFiles } from './client.js';
import { type Connection, onConnection } from './live.js';
import type { Files } from './messages.js';
import { useKeys, useShownKeys } from './parts/keys.js';
import { lastName } from './parts/run-ids.js';
import { SafeText } from './parts/safe-text.js';
import { ThemeSwitch } from './parts/theme-switch.js';
import {
  go,
  linkBackTo,
  linkTo,
  linkToPlace,
  parseRoute,
  parseWhole,
  type Route,
  useRoute,
} from './route.js';
import { CompareView } from './views/compare/compare-view.js';
import { CompletionView } from './views/completion/completion-view.js';
import { CurvesView } from './views/curves/curves-view.js';
import { DoctorView } from './views/doctor/doctor-view.js';
import { FindingsView } from './views/findings/findings-view.js';
import { LossView } from './views/loss/loss-view.js';
import { RunListView } from './views/run-list/run-list-view.js';
import { StepView } from './views/step/step-view.js';

interface AppProps {
  /** The files that the page came with, or its server; undefined where there are none. */
  own: Files | undefined;
  /** The place that the page opens at. */
  start: string;
}

export function App({ own, start }: AppProps) {
  const route = useRoute();
  const [isHelp, setHelp] = useState(false);
  const [isDropped, setDropped] = useState(false);
  const up = upOf(route, start);
  const goUp = up === undefined ? undefined : () => go(up);
  useKeys({
    '?': { does: 'these keys', act: () => setHelp(!isHelp) },
    Escape: { does: 'one place up', act: isHelp ? () => setHelp(false) : goUp },
    u: { does: 'one place up', act: goUp },
  });
  return (
    <>
      <header class="top">
        <Trail route={route} start={start} />
        <span class="top-end">
          <ConnectionMark />
          <a href="#/doctor">doctor</a>
          <ThemeSwitch />
          <button type="button" aria-label="keys" aria-expanded={isHelp} onClick={() => setHelp(!isHelp)}>
            ?
          </button>
        </span>
      </header>
      <main>
        {isDropped && own && <DroppedNote own={own} start={start} onBack={() => setDropped(false)} />}
        <CitedBy route={route} />
        {(own || isDropped) && route.parts[0] !== 'doctor' ? (
          viewOf(route)
        ) : (
          <DoctorView isDropped={isDropped} onDropped={() => setDropped(true)} />
        )}
      </main>
      {isHelp && <Help />}
    </>
  );
}

function viewOf({ parts, query }: Route): ComponentChildren {
  const [place, run, second, stepText, third, indexText] = parts;
  const [step, index] = [parseWhole(stepText), parseWhole(indexText)];
  if (place === undefined) return <RunListView query={query} />;
  if (place === 'compare') return <CompareView query={query} />;
  if (place !== 'run' || run === undefined) return <Nowhere />;
  if (second === undefined) return <CurvesView run={run} query={query} />;
  if (second === 'findings') return <FindingsView run={run} query={query} />;
  if (second !== 'step' || step === undefined) return <Nowhere />;
  const at = { run, step, query };
  if (third === undefined) return <StepView {...at} />;
  if (third === 'loss') return <LossView {...at} />;
  if (third === 'completion' && index !== undefined) return <CompletionView {...at} index={index} />;
  return <Nowhere />;
}

/** Dropped files take the place of those that the page came with. */
function DroppedNote({ own, start, onBack }: AppProps & { own: Files; onBack(): void }) {
  const back = () => {
    useFiles(own);
    onBack();
    go(start);
  };
  return (
    <p class="warn" role="status">
      Only the files that you dropped are shown.{' '}
      <button type="button" class="link" onClick={back}>
        Back to {own.kind === 'server' ? 'the runs of the server' : 'what this page came with'}
      </button>
    </p>
  );
}

/** The way back from a place to the finding that cites it: `?finding=B38.repeat`. */
function CitedBy({ route: { parts, query } }: { route: Route }) {
  const [place, run] = parts;
  if (place !== 'run' || run === undefined || query.finding === undefined) return null;
  return (
    <p class="soft">
      Cited by{' '}
      <a href={linkToPlace({ run, view: 'findings' }, { code: query.finding })}>
        <SafeText text={query.finding} most={60} />
      </a>
    </p>
  );
}

const Nowhere = () => (
  <p>
    There is nothing at this address. <a href="#/">All runs</a>
  </p>
);

/** A page of one step has nothing above it: `grpo step --html`. */
const stepOf = (start: string): string | undefined => {
  const { parts } = parseRoute(start);
  return parts[2] === 'step' ? parts[3] : undefined;
};

/** The place above: of a token's completion the step, of a step the run. */
function upOf({ parts }: Route, start: string): string | undefined {
  if (parts.length <= 4 && stepOf(start) !== undefined) return linkTo(parts) === start ? undefined : start;
  if (parts.length === 0) return undefined;
  return linkBackTo(parts.length > 4 ? parts.slice(0, 4) : parts.length > 2 ? parts.slice(0, 2) : []);
}

function Trail({ route: { parts }, start }: { route: Route; start: string }) {
  const [place, run, second, step, third] = parts;
  const only = stepOf(start);
  const links: [string, string][] = [only === undefined ? ['runs', linkBackTo([])] : [`step ${only}`, start]];
  if (place === 'run' && run !== undefined && only === undefined)
    links.push([lastName(run), linkBackTo([place, run])]);
  if (place === 'compare') links.push(['compare', '#/compare']);
  if (second === 'step' && step !== undefined) {
    if (step !== only) links.push([`step ${step}`, linkBackTo(parts.slice(0, 4))]);
  } else if (second !== undefined) links.push([second, linkTo(parts.slice(0, 3))]);
  if (third !== undefined) links.push([third, linkTo(parts)]);
  return (
    <nav aria-label="where you are">
      {links.map(([name, link], i) => (
        <span key={link}>
          {i > 0 && <span class="soft"> / </span>}
          <a href={link} aria-current={i === links.length - 1 ? 'page' : undefined}>
            <SafeText text={name} most={60} />
          </a>
        </span>
      ))}
    </nav>
  );
}

function ConnectionMark() {
  const [connection, setConnection] = useState<Connection>('live');
  useEffect(() => onConnection(setConnection), []);
  return connection === 'lost' ? (
    <span class="warn" role="status">
      the server has ended: this is what was read before
    </span>
  ) : null;
}

function Help() {
  const keys = useShownKeys();
  return (
    <aside class="help" aria-label="keys">
      <dl>
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
