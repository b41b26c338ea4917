/** Which step it is, the recorded ones beside it, and its numbers at a glance. */
import type { RunCurves, StepAnswer } from 'grpo/studio';
import { useKeys } from '../../parts/keys.js';
import { shortNumber, wholeNumber } from '../../parts/numbers.js';
import { SafeText, visible } from '../../parts/safe-text.js';
import { go, linkTo, linkToPlace, type Route } from '../../route.js';
import { hasSignal } from './selection.js';

interface StepHeadProps {
  run: string;
  answer: StepAnswer;
  /** Undefined until it has been read. */
  curves: RunCurves | undefined;
  query: Route['query'];
}

export function StepHead({ run, answer, curves, query }: StepHeadProps) {
  const { step, view } = answer;
  const steps = (curves?.records ?? []).map((one) => one.step).sort((a, b) => a - b);
  const before = steps.filter((one) => one < step).at(-1);
  const after = steps.find((one) => one > step);
  // Another step has other completions and prompts; order and filters stay.
  const linkToStep = (other: number) =>
    linkToPlace({ run, step: other }, { ...query, at: undefined, shared: undefined });
  useKeys({
    '[': { does: 'previous step', act: before === undefined ? undefined : () => go(linkToStep(before)) },
    ']': { does: 'next step', act: after === undefined ? undefined : () => go(linkToStep(after)) },
  });
  const other = before ?? after;
  return (
    <>
      <div class="step-title">
        <h1>Step {wholeNumber(step)}</h1>
        <nav aria-label="recorded steps">
          {before !== undefined && (
            <a href={linkToStep(before)} rel="prev">
              ← step {before}
            </a>
          )}
          {after !== undefined && (
            <a href={linkToStep(after)} rel="next">
              step {after} →
            </a>
          )}
          {answer.isWhole && <a href={linkToPlace({ run, step, view: 'loss' })}>the loss as a sum</a>}
          <a href={linkTo(['compare'], { run, step, with: run, withStep: other })}>compare</a>
        </nav>
      </div>
      {!answer.isWhole && (
        <p class="warn">
          No update of this step was recorded: it has texts and rewards, but no log-probs and no loss. A run
          of ours writes full records with <code>record.every</code>; the recorders for TRL and PyTorch write
          them, too.
        </p>
      )}
      <dl class="step-numbers">
        {numbersOf(view).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div>
          <dt>made by</dt>
          <dd>
            <SafeText text={view.producer} most={60} />
          </dd>
        </div>
      </dl>
    </>
  );
}

function numbersOf({ prompts, completions, sample, rewards, loss }: StepAnswer['view']): [string, string][] {
  const isFlat = (prompt: number) => hasSignal(completions.filter((one) => one.prompt === prompt)) === false;
  const flat = prompts.filter(({ index }) => isFlat(index)).length;
  const tokens = completions.reduce((sum, one) => sum + (one.tokens ?? 0), 0);
  const totals = completions.flatMap(({ total }) => total ?? []);
  const given = totals.filter((one) => !Number.isNaN(one));
  const failed = totals.length - given.length;
  const { shortest, longest, ended, cut } = sample;
  return [
    ['completions', `${shortNumber(completions.length)} in ${shortNumber(prompts.length)} groups`],
    ...(flat > 0 ? [['without signal', `${flat} of ${prompts.length} groups`]] : []),
    ...(given.length > 0
      ? [['mean reward', shortNumber(given.reduce((sum, one) => sum + one, 0) / given.length, 3)]]
      : []),
    ...(failed > 0 ? [['reward NaN', `${failed} of ${totals.length}`]] : []),
    ...(rewards.length > 1
      ? rewards.map(({ name, mean }) => [`mean ${visible(name.slice(0, 40))}`, shortNumber(mean, 3)])
      : []),
    ...(shortest === undefined
      ? []
      : [['tokens', `${shortNumber(tokens)}, ${shortNumber(shortest)} to ${shortNumber(longest)} each`]]),
    ...(cut === undefined ? [] : [['ended / cut off', `${ended} / ${cut}`]]),
    ...(loss?.loss === undefined ? [] : [['loss', shortNumber(loss.loss)]]),
    ...(sample.gap === undefined ? [] : [['largest gap', `${shortNumber(sample.gap, 3)} nats`]]),
  ] as [string, string][];
}
