/** Tables of a recorded step: a group, and what each completion adds to the loss. */
import { formatValue, percent } from '../../doctor/sentence.js';
import { sum } from '../../maths/moments.js';
import type { CompletionView } from '../../view/completion-view.js';
import type { PromptView, StepView } from '../../view/step-view.js';
import { number, signed } from '../cells.js';
import { alignColumns, shortened } from '../text-layout.js';

/** More rows than fill a screen are counted; `--json` has them all. */
const MOST_ROWS = 40;

export function groupTable({ prompts, completions }: StepView, prompt: number, width: number): string[] {
  const group = completions.filter((one) => one.prompt === prompt);
  const [first] = group;
  if (!first) return [];
  const columns: [string, (one: CompletionView) => string][] = [
    ['', ({ name }) => name],
    [
      'tokens',
      ({ tokens, trained }) =>
        trained !== undefined && trained !== tokens ? `${trained}/${tokens}` : String(tokens ?? '–'),
    ],
    ['log π', ({ logprob, samplerLogprob }) => number(logprob ?? samplerLogprob, 2)],
    ['log π_ref', ({ referenceLogprob }) => number(referenceLogprob, 2)],
    ['reward', ({ total }) => number(total, 2)],
    ['A', ({ advantage }) => signed(advantage)],
    ['loss', ({ policyLoss }) => signed(policyLoss, 5)],
    ['k3/token', ({ kl }) => number(kl?.k3)],
  ];
  const used = columns.filter(([, cell]) => group.some((one) => cell(one) !== '–'));
  const shown = group.slice(0, MOST_ROWS);
  const rows = alignColumns([
    used.map(([title]) => title),
    ...shown.map((one) => used.map(([, cell]) => cell(one))),
  ]);
  const left = Math.max(12, width - rows[0]!.length - 10);
  const lines = rows.map((row, i) =>
    `  ${row}   ${i === 0 ? `text of the answers to ${promptName(prompts[prompt], left)}` : endOf(shown[i - 1]!, left)}`.trimEnd(),
  );
  return shown.length < group.length
    ? [...lines, `  ${group.length - shown.length} more completions of this prompt: --json`]
    : lines;
}

const promptName = (prompt: PromptView | undefined, left: number) =>
  prompt?.text === undefined ? 'the prompt' : shortened(prompt.text, Math.max(8, left - 24));

/** The end of a text says most: there the answer stands. */
function endOf({ text, finish }: CompletionView, left: number): string {
  const cut = finish === 'length' ? '  cut' : '';
  return text === undefined ? cut : `${shortened(text, left, true)}${cut}`;
}

export function lossTable({ completions, loss, declared }: StepView): string[] {
  const own = completions.filter(
    ({ policyLoss, klLoss }) => policyLoss !== undefined || klLoss !== undefined,
  );
  if (own.length === 0) return ['  What each completion adds to the loss: not recorded'];
  const size = ({ policyLoss = 0, klLoss = 0 }: CompletionView) => Math.abs(policyLoss) + Math.abs(klLoss);
  const sorted = [...own].sort((a, b) => size(b) - size(a));
  const [shown, others] = [sorted.slice(0, MOST_ROWS), sorted.slice(MOST_ROWS)];
  const left = sum(others.map(size)) / sum(own.map(size));
  const policy = sum(own.map(({ policyLoss = 0 }) => policyLoss));
  const kl = sum(own.map(({ klLoss = 0 }) => klLoss));
  const rest = (loss?.loss ?? policy + kl) - policy - kl;
  const bonus = declared.entropy?.coefficient;
  // Float32's rounding of as many terms is far below.
  const isOther = Math.abs(rest) > 1e-3 * sum(own.map(size));
  return [
    '  What each completion adds to the loss, the largest first',
    ...alignColumns([
      ['', 'A', 'policy', 'KL', 'clipped'],
      ...shown.map((one) => [
        one.name,
        signed(one.advantage),
        signed(one.policyLoss, 6),
        signed(one.klLoss, 6),
        one.clipped === undefined ? '–' : percent(one.clipped),
      ]),
      ['all', '', signed(policy, 6), signed(kl, 6), ''],
    ]).map((row) => `  ${row}`),
    ...(others.length > 0
      ? [`  ${others.length} more make ${percent(left)} of all sizes together: --json`]
      : []),
    ...(isOther
      ? [
          `  The loss is ${signed(loss!.loss, 6)}: ${signed(rest, 6)} of it is neither.`,
          ...(bonus ? [`  The entropy bonus, ${formatValue(bonus)} × the entropy, lowers the loss.`] : []),
        ]
      : []),
  ];
}
