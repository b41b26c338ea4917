/** The tokens of a completion: as recorded, or beside those of a replay. */
import { formatValue } from '../../doctor/sentence.js';
import type { TokenView } from '../../view/token-view.js';
import { both, number, signed } from '../cells.js';
import { alignWithin, shortened, wrap } from '../text-layout.js';

const yesOrNo = (holds: boolean | undefined) => (holds === undefined ? '–' : holds ? 'yes' : 'no');

const COLUMNS: readonly [string, (one: TokenView) => string][] = [
  ['in loss', ({ trained }) => yesOrNo(trained)],
  ['kept ids', ({ support }) => (support === undefined ? '–' : String(support))],
  ['sampler', ({ sampler }) => number(sampler)],
  ['policy', ({ policy }) => number(policy)],
  ['reference', ({ reference }) => number(reference)],
  ['entropy', ({ entropy }) => number(entropy)],
  ['ratio', ({ ratio }) => number(ratio)],
  ['policy term', ({ policyTerm }) => signed(policyTerm, 4)],
  ['KL term', ({ klTerm }) => number(klTerm)],
  ['weight', ({ weight }) => (weight === undefined ? '–' : formatValue(weight))],
  ['policy slope', ({ policySlope }) => signed(policySlope, 5)],
  ['KL slope', ({ klSlope }) => signed(klSlope, 5)],
];

/** @param replayed - the same tokens with other settings; each cell that changes shows both values */
export function tokenTable(
  name: string,
  rows: readonly TokenView[],
  width: number,
  replayed: readonly TokenView[] = rows,
): string[] {
  const title = `Tokens of ${name}${replayed === rows ? '' : ', recorded → replayed'}. sampler, policy, reference: log-probs in nats${rows.some(({ support }) => support !== undefined) ? ', over the ids that sampling kept' : ''}. A slope is d loss / d log π: a negative one makes the token likelier.`;
  const columns = COLUMNS.map(([head, cell]) => [
    head,
    ...rows.map((one, t) => both(cell(one), cell(replayed[t]!))),
  ]).filter(([, ...cells]) => cells.some((cell) => cell !== '–'));
  const isConstant = ([, first, ...others]: string[]) =>
    others.length > 0 && others.every((cell) => cell === first);
  const constant = columns.filter(isConstant).map(([head, cell]) => `${head} ${cell}`);
  const names = [
    ['token', ...rows.map(({ token }) => String(token))],
    ['id', ...rows.map(({ id }) => String(id ?? '–'))],
    ...(rows.some(({ text }) => text !== undefined)
      ? [
          [
            'text',
            ...rows.map(({ text }) => (text === undefined ? '–' : shortened(JSON.stringify(text), 16))),
          ],
        ]
      : []),
  ];
  const varying = columns.filter((column) => !isConstant(column));
  return [
    ...wrap(title, width - 2),
    ...(constant.length > 0 ? wrap(`The same for all of them: ${constant.join(' · ')}.`, width - 2) : []),
    ...alignWithin(names, varying, width - 2),
  ].map((line) => `  ${line}`.trimEnd());
}
