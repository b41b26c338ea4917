import type { StepRecord } from '../../trace/index.js';
import type { StepView } from '../../view/step-view.js';
import { tokenViews } from '../../view/token-view.js';
import { EXIT } from '../command.js';
import { pageWidth } from '../text-layout.js';
import { stepPage } from './page.js';

/** What is shown of a step. */
export interface Shown {
  /** Prompts whose groups are shown. */
  prompts: readonly number[];
  /** The completion whose tokens are shown. */
  completion: string | undefined;
  /** Whether what each completion adds to the loss is shown. */
  loss: boolean;
}

/** How the answers to the prompts of a step have changed: as lines, and as data. */
export interface Change {
  lines: readonly string[];
  data: object;
}

/** Prints a step, as a page or as JSON; exit code 1 where the doctor fails it. */
export function showStep(
  path: string,
  record: StepRecord,
  view: StepView,
  {
    prompts,
    completion,
    loss,
    json,
    change,
    out = process.stdout,
  }: Shown & {
    json: boolean;
    change?: Change;
    out?: { write(text: string): unknown };
  },
): number {
  const tokens = completion === undefined ? undefined : tokenViews(record, completion, view);
  out.write(
    json
      ? `${JSON.stringify({ ...view, ...(tokens && { tokens }), ...change?.data })}\n`
      : stepPage(path, view, {
          prompts,
          tokens: tokens && { name: completion!, rows: tokens },
          loss,
          ...(change && { change: change.lines }),
          width: pageWidth(),
        }),
  );
  const { findings } = view.verdicts.at(-1)!;
  return findings.some(({ severity }) => severity === 'fail') ? EXIT.error : 0;
}
