/** The page of `explain`. */

import { colors } from '../colors.js';
import { wrap } from '../text-layout.js';
import type { ExplainedConfig, Setting } from './explained.js';
import type { Formula } from './formula.js';
import { decimal } from './number.js';

/** Lines of a page as wide as `width`. */
export function explainedPage(explained: ExplainedConfig, width: number): string {
  const { name, summary, formula, reading, cautions, settings, unsupported } = explained;
  const sections = [
    [colors.bold(name), ...(summary === undefined ? [] : hangIndent('', `${summary}.`, 2, width))],
    [title('What is minimized'), ...formulaLines(formula, width)],
    [title('How to read it'), ...reading.flatMap((line) => bullet(line, width))],
    ...(cautions.length === 0
      ? []
      : [
          [
            title('Known of these choices'),
            ...cautions.flatMap(({ level, why, source }) =>
              bullet(`${level === 'unsound' ? 'UNSOUND  ' : ''}${why}${from(source)}`, width),
            ),
          ],
        ]),
    ...(unsupported.length === 0
      ? []
      : [
          [
            title('What the original has and this has not'),
            ...unsupported.flatMap(({ what, why }) => bullet(`${what}: ${why}.`, width)),
          ],
        ]),
    [title('Settings, with their sources'), ...settings.flatMap((setting) => settingLines(setting, width))],
  ];
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

const title = (text: string) => colors.bold(text);

const from = (source: string | undefined) => (source === undefined ? '' : ` (${source})`);

/** Text under a hanging indent of `left` columns, the first line begun by `head`. */
export function hangIndent(head: string, text: string, left: number, width: number): string[] {
  const [first = '', ...rest] = wrap(text, width - left);
  const start = head.length <= left - 1 ? [head.padEnd(left) + first] : [head, ' '.repeat(left) + first];
  return [...start, ...rest.map((line) => ' '.repeat(left) + line)];
}

const bullet = (text: string, width: number) => hangIndent('  -', text, 4, width);

/** The formula, and the meaning of its symbols. */
function formulaLines({ loss, where }: Formula, width: number): string[] {
  const [first, ...rest] = loss;
  const sums = [`  L = ${first}`, ...rest.map((line) => `    ${line}`)];
  return [...sums, '', ...where.flatMap(({ symbol, text }) => hangIndent(`  ${symbol}`, text, 9, width))];
}

/** A value as it is written in a file. */
export function formatSetting(value: unknown): string {
  if (value === undefined) return 'not given';
  if (typeof value === 'number') return decimal(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function settingLines({ key, value, unit, help, source }: Setting, width: number): string[] {
  const counted = unit === undefined || value === undefined ? '' : ` ${unit}`;
  const head = hangIndent('', `${key} = ${formatSetting(value)}${counted}  [${source}]`, 2, width);
  return [...head, ...hangIndent('', `${help}.`, 6, width).map((line) => colors.dim(line))];
}
