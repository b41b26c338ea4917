/** The page of `diff`. */
import { colors } from '../colors.js';
import { formatSetting, hangIndent } from '../explain/explained-page.js';
import type { Difference, Differences } from './differences.js';

export function diffPage({ a, b, formula, settings, unsupported }: Differences, width: number): string {
  if (formula.length === 0 && settings.length === 0) return `${a} and ${b} train alike.\n`;
  const left = 4 + Math.max(a.length, b.length) + 2;
  const side = (name: string, text: string) => hangIndent(`    ${name}`, text, left, width);
  const one = (text: string | undefined) => text ?? '—';
  const sections = [
    ...(formula.length === 0
      ? []
      : [
          [
            colors.bold('What is minimized'),
            ...formula.flatMap((line) => [
              `  ${line.symbol}`,
              ...side(a, one(line.a)),
              ...side(b, one(line.b)),
            ]),
          ],
        ]),
    ...(settings.length === 0
      ? []
      : [
          [
            colors.bold('Settings'),
            ...settings.flatMap((difference) => [
              `  ${difference.key}`,
              ...side(a, valueText(difference.a)),
              ...side(b, valueText(difference.b)),
              ...hangIndent('', meaning(difference, a, b), left, width).map((line) => colors.dim(line)),
            ]),
          ],
        ]),
    ...(
      [
        [a, unsupported.a],
        [b, unsupported.b],
      ] as const
    )
      .filter(([, list]) => list.length > 0)
      .map(([name, list]) => [
        colors.bold(`What the original of ${name} has and this has not`),
        ...list.flatMap(({ what, why }) => hangIndent('  -', `${what}: ${why}.`, 4, width)),
      ]),
  ];
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function valueText(side: Difference['a']): string {
  if (!side) return '— (no effect here)';
  const unit = side.unit === undefined || side.value === undefined ? '' : ` ${side.unit}`;
  return `${formatSetting(side.value)}${unit}  [${side.source}]`;
}

/** The side with more, and the effect of the setting. */
function meaning({ a, b, help }: Difference, nameA: string, nameB: string): string {
  if (typeof a?.value !== 'number' || typeof b?.value !== 'number') return `${help}.`;
  // A seed is a number of which there is no more and less.
  if (!/\b(more|less)\b/i.test(help)) return `${help}.`;
  return `More in ${a.value > b.value ? nameA : nameB}. ${help}.`;
}
