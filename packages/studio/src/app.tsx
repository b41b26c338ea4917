/** Which view stands at an address, and what all views have around them. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Connection, onConnection } from './live.js';
import { useKeys } from './parts/keys.js';
import { SafeText } from './parts/safe-text.js';
import { go, linkTo, type Route, useRoute } from './route.js';
import { CompareView } from './views/compare/compare-view.js';
import { CompletionView } from './views/completion/completion-view.js';
import { CurvesView } from './views/curves/curves-view.js';
import { DoctorView } from './views/doctor/doctor-view.js';
import { FindingsView } from './views/findings/findings-view.js';
import { LossView } from './views/loss/loss-view.js';
import { RunListView } from './views/run-list/run-list-view.js';
import { StepView } from './views/step/step-view.js';

/** @param hasFiles - whether the page came with files, or with a server that has some */
export function App({ hasFiles }: { hasFiles: boolean }) {
  const route = useRoute();
  const [isHelp, setHelp] = useState(false);
  const [isDropped, setDropped] = useState(false);
  const up = upOf(route);
  const goUp = up === undefined ? undefined : () => go(up);
  useKeys({
    '?': () => setHelp(!isHelp),
    Escape: isHelp ? () => setHelp(false) : goUp,
    u: goUp,
  });
  return (
    <>
      <header class="top">
        <Trail route={route} />
        <span class="top-end">
          <ConnectionMark />
          <a href="#/doctor">doctor</a>
          <ThemeSwitch />
          <button type="button" aria-label="keys" onClick={() => setHelp(!isHelp)}>
            ?
          </button>
        </span>
      </header>
      <main>
        <CitedBy route={route} />
        {(hasFiles || isDropped) && route.parts[0] !== 'doctor' ? (
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
  const [place, run, second, step, third, index] = parts;
  if (place === undefined) return <RunListView query={query} />;
  if (place === 'compare') return <CompareView query={query} />;
  if (place !== 'run' || run === undefined) return <Nowhere />;
  if (second === undefined) return <CurvesView run={run} query={query} />;
  if (second === 'findings') return <FindingsView run={run} query={query} />;
  if (second !== 'step' || !/^\d+$/.test(step ?? '')) return <Nowhere />;
  const at = { run, step: Number(step), query };
  if (third === undefined) return <StepView {...at} />;
  if (third === 'loss') return <LossView {...at} />;
  if (third === 'completion' && /^\d+$/.test(index ?? ''))
    return <CompletionView {...at} index={Number(index)} />;
  return <Nowhere />;
}

/** The way back from a place to the finding that cites it: `?finding=B38.repeat`. */
function CitedBy({ route: { parts, query } }: { route: Route }) {
  const [place, run] = parts;
  if (place !== 'run' || run === undefined || query.finding === undefined) return null;
  return (
    <p class="soft">
      Cited by{' '}
      <a href={linkTo(['run', run, 'findings'], { code: query.finding })}>
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

/** The place above: of a token's completion the step, of a step the run. */
function upOf({ parts }: Route): string | undefined {
  if (parts.length === 0) return undefined;
  return linkTo(parts.length > 4 ? parts.slice(0, 4) : parts.length > 2 ? parts.slice(0, 2) : []);
}

function Trail({ route: { parts } }: { route: Route }) {
  const [place, run, second, step, third, index] = parts;
  const links: [string, string][] = [['runs', '#/']];
  if (place === 'run' && run !== undefined) links.push([run.split('/').at(-1)!, linkTo([place, run])]);
  if (place === 'compare') links.push(['compare', '#/compare']);
  if (second === 'step' && step !== undefined) links.push([`step ${step}`, linkTo(parts.slice(0, 4))]);
  else if (second !== undefined) links.push([second, linkTo(parts.slice(0, 3))]);
  if (third !== undefined) links.push([index === undefined ? third : `${third} ${index}`, linkTo(parts)]);
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

const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>('auto');
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  return (
    <button type="button" title={`colours: ${theme}; press for ${next}`} onClick={() => setTheme(next)}>
      {theme}
    </button>
  );
}

const KEYS: readonly [string, string][] = [
  ['?', 'these keys'],
  ['u, Esc', 'one place up'],
  ['j, k', 'next, previous'],
  [']  [', 'next, previous step'],
  ['Enter', 'open'],
  ['/', 'search'],
];

const Help = () => (
  <aside class="help" aria-label="keys">
    <dl>
      {KEYS.map(([key, does]) => (
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
