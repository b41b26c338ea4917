/** A report as one self-contained HTML page: the cause first, with the curves that the findings cite. */
import type { Check } from '../../doctor/check.js';
import type { Judgement } from '../../doctor/examine.js';
import type { MetricSeries } from '../../trace/index.js';
import { UNPROVED } from '../../view/report/examined.js';
import type { Report, ReportItem, Section } from '../../view/report/report.js';
import { curve } from './curve.js';
import { escapeHtml as e } from './html.js';
import { STYLE } from './style.js';

/** As many curves as one finding shows. */
const MOST_CURVES = 4;

/** The page. It loads nothing from anywhere. */
export function htmlReport(
  { path, summary, cause, verdict, judged, sections, notes }: Report,
  judgements: readonly Judgement[],
  checks: readonly Check[],
  series: MetricSeries | undefined,
): string {
  const lead = cause
    ? article(cause, series)
    : `<article class="${judged ? 'pass' : 'warn'}"><p class="says">${verdict}</p></article>`;
  const section = ({ title, findings, brief }: Section) =>
    `<h2>${title}</h2>${findings.map((item) => (brief ? folded : article)(item, series)).join('')}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${e(path)}: diagnosis</title><style>${STYLE}</style></head><body>
<h1>${e(path)}</h1>
<p class="soft">${e(summary)}</p>
<div id="cause">${lead}</div>
${sections.map(section).join('\n')}
<h2>What was judged</h2>
${notes.map((text) => `<p class="soft">${e(text)}</p>`).join('')}
${judged ? allChecks(judgements, checks) : ''}
</body></html>
`;
}

const LABELS = { fail: 'FAIL', warn: 'WARN', inform: 'NOTE' };

/** A finding with all that is known of it. */
const article = (item: ReportItem, series: MetricSeries | undefined): string =>
  `<article class="${item.finding.severity}">${head(item)}${inside(item, series)}</article>`;

/** A finding in a sentence, the rest of it folded. */
const folded = (item: ReportItem, series: MetricSeries | undefined): string =>
  `<article class="${item.finding.severity}">${head(item)}<details><summary>details</summary>${inside(item, series)}</details></article>`;

const head = ({ finding, label, says }: ReportItem) =>
  `<span class="label">${LABELS[finding.severity]}</span> <code>${label}</code><p class="says">${e(says)}</p>`;

function inside(item: ReportItem, series: MetricSeries | undefined): string {
  const { check, steps, places, signs, rerun, sources } = item;
  const rows = [
    ...(steps === undefined ? [] : [['steps', steps]]),
    ...places.map((place) => ['where', place]),
    ...signs.map((sign) => ['seen too', `${sign.says} (${sign.label})`]),
    ['do', check.remedy],
    ...(check.settles === undefined ? [] : [['to be sure', check.settles]]),
    ...(rerun === undefined ? [] : [['run again', rerun]]),
    ['must hold', check.title],
    ['test', check.threshold],
    ['source', sources],
    ['proved with', check.proofs.join(', ') || UNPROVED],
  ] as [string, string][];
  const terms = rows.map(([name, text], i) => {
    const again = name === rows[i - 1]?.[0];
    return `<dt>${again ? '' : name}</dt><dd>${e(text)}</dd>`;
  });
  return `${figures([item, ...signs], series)}<dl>${terms.join('')}</dl>`;
}

/** The curves of what the findings cite, with the steps of their evidence marked. */
function figures(findings: readonly ReportItem[], series: MetricSeries | undefined): string {
  if (!series) return '';
  const ofLogs = findings.filter(({ check }) => check.scope === 'log');
  const cited = ofLogs.flatMap(({ finding, check }) => [
    ...finding.evidence.flatMap(({ text, values }) => [
      ...(text === undefined ? [] : [text]),
      ...Object.keys(values ?? {}),
    ]),
    ...check.needs,
  ]);
  const marks = ofLogs.flatMap(({ finding }) => finding.evidence.flatMap(({ step }) => step ?? []));
  const drawn = [...new Set(cited)].map((name) => curve(series, name, [...new Set(marks)]));
  return drawn
    .filter((figure) => figure !== '')
    .slice(0, MOST_CURVES)
    .join('');
}

function allChecks(judgements: readonly Judgement[], checks: readonly Check[]): string {
  const row = ({ code, verdict, judged, missing }: Judgement) => {
    const verdictText =
      verdict === 'not applicable'
        ? `not judged${missing.length > 0 ? `: needs ${missing.join(', ')}` : ''}`
        : verdict;
    const times = judged > 1 ? ` (${judged} times)` : '';
    const { title } = checks.find((check) => check.code === code)!;
    return `<tr class="${verdict === 'not applicable' ? '' : verdict}"><td><code>${code}</code></td><td>${e(title)}</td><td>${e(verdictText)}${times}</td></tr>`;
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
