import { colors } from '../../colors.js';
import { hangIndent } from '../../explain/explained-page.js';
import { wrap } from '../../text-layout.js';
import type { TrlDifferences } from './compare-trl.js';

/** The page of `diff --trl`. */
export function trlPage(differences: TrlDifferences, width: number): string {
  const { defaults, functions, alike, known } = differences;
  // Two trees of one version still need two names.
  const [a, b] =
    differences.a === differences.b
      ? [`${differences.a} (A)`, `${differences.b} (B)`]
      : [differences.a, differences.b];
  const count = `${alike} functions on the way of a step are alike but for comments`;
  if (defaults.length === 0 && functions.length === 0)
    return `${wrap(`${a} and ${b} make the same numbers of a GRPO step: all ${count}, and the defaults are the same.`, width).join('\n')}\n`;
  const nameWidth = 2 + Math.max(0, ...defaults.map(({ name }) => name.length));
  const sections = [
    [colors.bold(`${a} → ${b}`), ...hangIndent('', `${count}; ${functions.length} differ.`, 0, width)],
    defaults.length === 0
      ? []
      : [
          colors.bold('Defaults'),
          ...defaults.flatMap(({ name, a: from, b: to, known: says }) => [
            `  ${name.padEnd(nameWidth)}${from ?? '(none)'} → ${to ?? '(none)'}`,
            ...(says === undefined ? [] : hangIndent('', says, 6, width).map((line) => colors.dim(line))),
          ]),
        ],
    known.length === 0
      ? []
      : [
          colors.bold('What is known of the code'),
          ...known.flatMap((own) => hangIndent('  -', `${own.in === 'a' ? a : b} ${own.says}.`, 4, width)),
        ],
    functions.length === 0
      ? []
      : [
          colors.bold('Functions'),
          ...functions.map(({ name, in: place, added, removed }) =>
            place === 'both'
              ? `  ${name}  +${added} −${removed}`
              : `  ${name}  only in ${place === 'a' ? a : b}`,
          ),
        ],
    ...functions
      .filter(({ patch }) => patch !== '')
      .map(({ name, patch }) => [colors.bold(name), ...patch.trimEnd().split('\n').map(colored)]),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function colored(line: string): string {
  if (line.startsWith('+')) return colors.green(line);
  if (line.startsWith('-')) return colors.red(line);
  return line.startsWith('@@') ? colors.dim(line) : line;
}
