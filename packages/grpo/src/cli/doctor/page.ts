/** A diagnosis as one self-contained HTML page, with the curves that its findings cite. */
import type { Check } from '../../doctor/check.js';
import type { Diagnosis } from '../../doctor/examine.js';
import type { Finding } from '../../doctor/finding.js';
import { sentenceOf } from '../../doctor/words/index.js';
import type { MetricSeries } from '../../trace/index.js';
import { curve } from './curve.js';
import { escapeHtml as e } from './html.js';
import { type Examined, place, whereOf } from './report.js';

const STYLE = `
:root { color-scheme: light dark; --line: #8886; --fail: #c62828; --warn: #b26a00; --inform: #0277bd; --ok: #2e7d32 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem; margin-bottom: 0 } h2 { font-size: 1.1rem; margin-top: 2rem }
article { border-left: 4px solid var(--line); padding: .2rem 1rem; margin: 1rem 0 }
article.fail { border-color: var(--fail) } article.warn { border-color: var(--warn) } article.inform { border-color: var(--inform) }
.label { font-weight: 600; text-transform: uppercase; font-size: .8rem }
.fail > .label { color: var(--fail) } .warn > .label { color: var(--warn) } .inform > .label { color: var(--inform) }
h3 { font-size: 1rem; margin: .1rem 0 } dl { display: grid; grid-template-columns: 7rem 1fr; gap: .2rem 1rem; font-size: .9rem }
dt { opacity: .7 } dd { margin: 0; overflow-wrap: anywhere } code { font-size: .85rem }
svg { max-width: 100%; height: auto } figure { margin: 1rem 0 } figcaption { font-size: .85rem; opacity: .8 }
table { border-collapse: collapse; font-size: .85rem; width: 100% } td, th { text-align: left; padding: .15rem .5rem; border-bottom: 1px solid var(--line) }
.ok { color: var(--ok) }
`;

/** The page. It loads nothing from anywhere. */
export function htmlReport(
  examined: Examined,
  diagnosis: Diagnosis,
  checks: readonly Check[],
  series: MetricSeries | undefined,
): string {
  const { findings, judgements } = diagnosis;
  const causes = findings.filter(({ inducedBy }) => inducedBy === undefined);
  const induced = findings.filter(({ inducedBy }) => inducedBy !== undefined);
  const checkOf = (code: string) => checks.find((check) => check.code === code)!;
  const section = (title: string, list: readonly Finding[]) =>
    list.length === 0
      ? ''
      : `<h2>${title}</h2>${list.map((finding) => article(finding, checkOf(finding.code), series)).join('')}`;
  const rows = judgements.map(({ code, verdict, judged, missing }) => {
    const told = verdict === 'not applicable' ? `no: ${missing.join(', ')}` : `${verdict} (${judged})`;
    return `<tr><td><code>${code}</code></td><td>${e(checkOf(code).title)}</td><td>${e(told)}</td></tr>`;
  });
  const sick = findings.some(({ severity }) => severity !== 'inform');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${e(examined.path)} — diagnosis</title><style>${STYLE}</style></head><body>
<h1>${e(examined.path)}</h1>
<p>${e(examined.kind)}, ${examined.records} step records, ${examined.entries} log entries. ${examined.notes.map(e).join(' ')}</p>
${brokenLines(examined)}
${sick ? '' : '<p class="ok">Nothing wrong was found by the checks that could be made.</p>'}
${section(sick ? 'The cause' : 'To know', causes)}
${section('What follows from it, or may', induced)}
<h2>All checks</h2>
<table><thead><tr><th>code</th><th>what must hold</th><th>judged</th></tr></thead><tbody>${rows.join('')}</tbody></table>
</body></html>
`;
}

function brokenLines({ broken }: Examined): string {
  if (broken.count === 0) return '';
  const items = broken.first.map(
    ({ file, line, reason }) => `<li><code>${e(whereOf(file, line))}</code> ${e(reason)}</li>`,
  );
  return `<p>${broken.count} broken lines were left out:</p><ul>${items.join('')}</ul>`;
}

function article(finding: Finding, check: Check, series: MetricSeries | undefined): string {
  const rows = [
    ...(finding.steps.length > 0
      ? [['steps', `${finding.steps.slice(0, 12).join(', ')} (${finding.steps.length} of ${finding.judged})`]]
      : []),
    ...finding.evidence.map((item) => ['where', place(item)]),
    ['do', check.remedy],
    ...(check.settles ? [['to be sure', check.settles]] : []),
    ['test', check.threshold],
    ['source', check.source],
    ...(finding.inducedBy
      ? [[finding.inducedBy.sure ? 'follows from' : 'may follow from', finding.inducedBy.code]]
      : []),
    ...(check.consequence.rerun === 'nothing'
      ? []
      : [
          [
            'run again',
            `${check.consequence.rerun}${check.consequence.checkpointsVoid ? '; the checkpoints are worth nothing' : ''}`,
          ],
        ]),
  ] as [string, string][];
  const figures =
    check.scope === 'log' && series ? check.needs.map((name) => curve(series, name)).join('') : '';
  return `<article class="${finding.severity}"><span class="label">${finding.severity}</span>
<h3><code>${finding.code}</code> ${e(check.title)}: it does not hold</h3>
<p>${e(sentenceOf(finding))}</p>${figures}
<dl>${rows.map(([name, text]) => `<dt>${name}</dt><dd>${e(text)}</dd>`).join('')}</dl></article>`;
}
