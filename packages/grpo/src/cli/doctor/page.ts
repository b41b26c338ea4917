/** A diagnosis as one self-contained HTML page: the cause first, with the curves that the findings cite. */
import type { Check } from '../../doctor/check.js';
import type { Diagnosis, Judgement } from '../../doctor/examine.js';
import type { Finding } from '../../doctor/finding.js';
import { printable } from '../../errors/printable.js';
import type { MetricSeries } from '../../trace/index.js';
import { arrange } from './arrange.js';
import { curve } from './curve.js';
import {
  coverage,
  type Examined,
  labelOf,
  notesOf,
  place,
  rerunOf,
  says,
  sourcesOf,
  stepsOf,
  summaryOf,
  UNPROVED,
} from './examined.js';
import { escapeHtml as e } from './html.js';
import { STYLE } from './style.js';

/** As many curves as one finding shows. */
const MOST_CURVES = 4;

/** The page. It loads nothing from anywhere. */
export function htmlReport(
  examined: Examined,
  diagnosis: Diagnosis,
  checks: readonly Check[],
  series: MetricSeries | undefined,
): string {
  const { findings, judgements } = diagnosis;
  const found = arrange(findings);
  const card = (finding: Finding) => article(finding, [], checks, series);
  const folded = (finding: Finding) => brief(finding, checks, series);
  const section = (title: string, list: readonly Finding[], write: (finding: Finding) => string) =>
    list.length === 0 ? '' : `<h2>${title}</h2>${list.map(write).join('')}`;
  const path = printable(examined.path, 300);
  const judged = judgements.some((judgement) => judgement.judged > 0);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${e(path)}: diagnosis</title><style>${STYLE}</style></head><body>
<h1>${e(path)}</h1>
<p class="soft">${e(summaryOf(examined))}</p>
<div id="cause">${found.cause.map((cause) => article(cause, found.sign, checks, series)).join('') || nothing(judged)}</div>
${section('This follows from it', found.follows, folded)}
${section('This may follow from it, and may not', found['may follow'], folded)}
${section('This is wrong besides', found.besides, card)}
${section('To know', found['to know'], folded)}
<h2>What was judged</h2>
${[...(judged ? [coverage(examined, judgements, checks)] : []), ...notesOf(examined)].map((text) => `<p class="soft">${e(text)}</p>`).join('')}
${judged ? allChecks(judgements, checks) : ''}
</body></html>
`;
}

const nothing = (judged: boolean) =>
  judged
    ? '<article class="pass"><p class="says">Nothing wrong was found by the checks that could be made.</p></article>'
    : '<article class="warn"><p class="says">Nothing here can be judged.</p></article>';

const LABELS = { fail: 'FAIL', warn: 'WARN', inform: 'NOTE' };

/** A finding with all that is known of it. */
function article(
  finding: Finding,
  signs: readonly Finding[],
  checks: readonly Check[],
  series: MetricSeries | undefined,
): string {
  return `<article class="${finding.severity}">${head(finding)}${inside(finding, signs, checks, series)}</article>`;
}

/** A finding in a sentence, the rest of it folded. */
function brief(finding: Finding, checks: readonly Check[], series: MetricSeries | undefined): string {
  return `<article class="${finding.severity}">${head(finding)}<details><summary>details</summary>${inside(finding, [], checks, series)}</details></article>`;
}

const head = (finding: Finding) =>
  `<span class="label">${LABELS[finding.severity]}</span> <code>${labelOf(finding)}</code><p class="says">${e(says(finding))}</p>`;

function inside(
  finding: Finding,
  signs: readonly Finding[],
  checks: readonly Check[],
  series: MetricSeries | undefined,
): string {
  const check = checks.find(({ code }) => code === finding.code)!;
  const [steps, rerun] = [stepsOf(finding), rerunOf(check)];
  const rows = [
    ...(steps === undefined ? [] : [['steps', steps]]),
    ...finding.evidence.map((item) => ['where', place(item)]),
    ...signs.map((sign) => ['seen too', `${says(sign)} (${labelOf(sign)})`]),
    ['do', check.remedy],
    ...(check.settles === undefined ? [] : [['to be sure', check.settles]]),
    ...(rerun === undefined ? [] : [['run again', rerun]]),
    ['must hold', check.title],
    ['test', check.threshold],
    ['source', sourcesOf(check)],
    ['proved with', check.proofs.join(', ') || UNPROVED],
  ] as [string, string][];
  const terms = rows.map(([name, text], i) => {
    const again = name === rows[i - 1]?.[0];
    return `<dt>${again ? '' : name}</dt><dd>${e(text)}</dd>`;
  });
  return `${figures([finding, ...signs], checks, series)}<dl>${terms.join('')}</dl>`;
}

/** The curves of what the findings cite, with the steps of their evidence marked. */
function figures(
  findings: readonly Finding[],
  checks: readonly Check[],
  series: MetricSeries | undefined,
): string {
  if (!series) return '';
  const ofLogs = findings.filter(({ code }) => checks.find((check) => check.code === code)!.scope === 'log');
  const cited = ofLogs.flatMap(({ code, evidence }) => [
    ...evidence.flatMap(({ text, values }) => [
      ...(text === undefined ? [] : [text]),
      ...Object.keys(values ?? {}),
    ]),
    ...checks.find((check) => check.code === code)!.needs,
  ]);
  const marks = ofLogs.flatMap(({ evidence }) => evidence.flatMap(({ step }) => step ?? []));
  const drawn = [...new Set(cited)].map((name) => curve(series, name, [...new Set(marks)]));
  return drawn
    .filter((figure) => figure !== '')
    .slice(0, MOST_CURVES)
    .join('');
}

function allChecks(judgements: readonly Judgement[], checks: readonly Check[]): string {
  const row = ({ code, verdict, judged, missing }: Judgement) => {
    const told =
      verdict === 'not applicable'
        ? `not judged${missing.length > 0 ? `: needs ${missing.join(', ')}` : ''}`
        : verdict;
    const times = judged > 1 ? ` (${judged} times)` : '';
    const { title } = checks.find((check) => check.code === code)!;
    return `<tr class="${verdict === 'not applicable' ? '' : verdict}"><td><code>${code}</code></td><td>${e(title)}</td><td>${e(told)}${times}</td></tr>`;
  };
  const table = (title: string, some: readonly Judgement[]) =>
    some.length === 0
      ? ''
      : `<details><summary>${title}: ${some.length}</summary><table><thead><tr><th>check</th><th>what must hold</th><th>judged</th></tr></thead><tbody>${some.map(row).join('')}</tbody></table></details>`;
  const made = judgements.filter(({ judged }) => judged > 0);
  return (
    table('Checks that were made', made) +
    table(
      'Checks that could not be made',
      judgements.filter(({ judged }) => judged === 0),
    )
  );
}
