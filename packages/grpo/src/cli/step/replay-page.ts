/** A replayed step as a page of text: each number beside the recorded one. */
import { formatValue, percent } from '../../doctor/sentence.js';
import { largest, mean, sum } from '../../maths/moments.js';
import type { ModelReplay, Norms } from '../../run/replay/replay-model.js';
import type { ReplayedStep } from '../../run/replay/replay-step.js';
import type { CompletionView } from '../../view/completion-view.js';
import type { Replay } from '../../view/replay.js';
import { type StepView, viewOf } from '../../view/step-view.js';
import { tokenViews } from '../../view/token-view.js';
import { both, number, signed } from '../cells.js';
import { alignColumns, wrap } from '../text-layout.js';
import { tokenTable } from './token-table.js';

/** What is shown of a replay. */
export interface ReplayPageOptions {
  /** Completions whose shares of the loss are listed; those whose shares change most when missing. */
  prompts: readonly number[] | undefined;
  /** The completion whose tokens are shown. */
  completion: string | undefined;
  width: number;
}

/** Completions that are listed when none were asked for. */
const LISTED = 8;

export function replayPage(
  path: string,
  replay: ReplayedStep,
  { prompts, completion, width }: ReplayPageOptions,
): string {
  const { model } = replay;
  const anew = typeof model === 'string' ? undefined : model;
  const weights = anew
    ? `Scored and differentiated anew with the weights that took the step (${anew.weights}), which give the recorded log-probs ${anew.gap.max === 0 ? 'exactly' : `within ${formatValue(anew.gap.max)} nats`}.`
    : `Computed from the record; no gradient, no full KL: ${model}.`;
  const sides = [viewOf(replay.recorded, []), viewOf(replay.replayed, [])] as const;
  const lines = [
    ...wrap(`Step ${sides[0].step} of ${path}, replayed with ${changesText(replay)}`, width),
    ...[weights, ownText(replay)].flatMap((text) => wrap(text, width)),
    '',
    ...wholeTable(sides, anew),
    ...(anew ? ['', ...gradientTable(sides[0], anew)] : []),
    ...(anew?.boundary ? ['', ...boundaryTable(replay, anew.boundary, completion, width)] : []),
    '',
    ...completionTable(sides, prompts, width),
    ...(completion === undefined ? [] : ['', ...tokensOf(replay, completion, width)]),
  ];
  return `${lines.join('\n')}\n`;
}

function changesText({ changed }: Replay): string {
  if (changed.length === 0) return 'its own settings';
  const value = (one: unknown) => (one === undefined ? 'not declared' : String(one));
  // What the record left to the name of its loss, the name of the loss says here as well.
  return changed
    .filter(({ recorded, follows }) => recorded !== undefined || !follows)
    .map(({ path, recorded, replayed }) => `${path}=${value(replayed)} (recorded: ${value(recorded)})`)
    .join(', ');
}

function ownText({ unexplained, unchecked }: Replay): string {
  if (unchecked !== undefined)
    return `Whether the recorded numbers follow from the recorded settings cannot be told without ${unchecked}.`;
  if (!unexplained)
    return 'With its own settings the record gives the numbers that it holds: the columns differ by the settings alone.';
  const { quantity, first } = unexplained;
  const { where, here, there } = first!;
  return `NOTE: the recorded numbers do not follow from the recorded settings. First: ${quantity}, ${where}: ${formatValue(here as number)} recorded, ${formatValue(there as number)} by the settings. grpo step and grpo doctor say more.`;
}

type Sides = readonly [StepView, StepView];

const RULE = ['', 'recorded', 'replayed'];

/** Numbers of the whole step. */
function wholeTable(sides: Sides, anew: ModelReplay | undefined): string[] {
  const row = (name: string, cell: (view: StepView) => string): string[][] => {
    const cells = sides.map(cell);
    return cells.some((text) => text !== '–') ? [[name, ...cells]] : [];
  };
  const part = (name: string) => (view: StepView) => {
    const own = view.loss?.components.find((one) => one.name === name);
    return own ? signed(own.coefficient * own.value, 6) : '–';
  };
  const advantages = (view: StepView) => view.completions.flatMap(({ advantage }) => advantage ?? []);
  const clippedIn = (u: number) => (view: StepView) => {
    const share = view.updates[u]?.beyondClip;
    return share === undefined ? '–' : percent(share);
  };
  const later = [...sides[0].updates.keys()].slice(1);
  const kl = (key: 'k1' | 'k2' | 'k3') => (view: StepView) => number(view.loss?.kl?.[key], 6);
  const rows = [
    ...row('advantages, largest', (view) =>
      advantages(view).length > 0 ? number(largest(advantages(view).map(Math.abs))) : '–',
    ),
    ...row('ratio, mean', (view) => number(meanRatio(view), 6)),
    ...row('beyond the clip range', clippedIn(0)),
    ...row('tokens in the loss', ({ loss }) => (loss?.trained === undefined ? '–' : String(loss.trained))),
    ...row('loss: policy', part('policy')),
    ...row('loss: β × KL', part('kl')),
    ...row('loss: entropy', part('entropy')),
    ...row('loss', ({ loss }) => signed(loss?.loss, 6)),
    ...later.flatMap((u) => [
      ...row(`loss, update ${u + 1}`, ({ updates }) => signed(updates[u]?.loss, 6)),
      ...row(`beyond the clip range, update ${u + 1}`, clippedIn(u)),
    ]),
    ...row('KL per token: k1', kl('k1')),
    ...row('KL per token: k2', kl('k2')),
    ...row('KL per token: k3', kl('k3')),
    ...(anew?.fullKl === undefined ? [] : [['KL per token: full', '–', number(anew.fullKl, 6)]]),
    ...row('gradient, norm', ({ updates: [update] }) => number(update?.gradNorm, 6)),
    ...row('clipped: gradient ×', ({ updates: [update] }) => number(update?.clippedBy, 3)),
  ];
  return alignColumns([RULE, ...rows]).map((line) => `  ${line}`);
}

const titled = (title: string, width: number) => wrap(title, width - 2).map((line) => `  ${line}`);

/** The parts of the gradient, layer by layer. */
function gradientTable(
  { updates: [recorded] }: StepView,
  { gradient: { all, policy, kl } }: ModelReplay,
): string[] {
  const rows = (
    [name, own]: readonly [string, (norms: Norms) => number | undefined],
    before: number | undefined,
  ) => [
    name,
    number(before),
    number(own(all)),
    number(own(policy)),
    ...(kl ? [number(own(kl)), shareOf(own(policy), own(kl))] : []),
  ];
  return [
    '  Norm of the gradient, and of the parts that it is the sum of',
    ...alignColumns([
      ['', 'recorded', 'replayed', 'policy', ...(kl ? ['KL', 'share of the KL'] : [])],
      rows(['all', ({ norm }) => norm], recorded?.gradNorm),
      ...Object.keys(all.groups).map((name) =>
        rows([name.replace(/\.weight$/, ''), ({ groups }) => groups[name]], recorded?.gradNorms?.[name]),
      ),
    ]).map((line) => `  ${line}`),
  ];
}

const shareOf = (policy = 0, kl = 0) => (policy + kl > 0 ? percent(kl / (policy + kl)) : '–');

/** Which row of the logits predicts which token, where prompt and completion meet. */
function boundaryTable(
  { recorded }: Replay,
  boundary: NonNullable<ModelReplay['boundary']>,
  name: string | undefined,
  width: number,
): string[] {
  const view = viewOf(recorded, []);
  const own = view.completions.find((one) => one.name === name) ?? view.completions[0]!;
  const prompt = view.prompts[own.prompt]!.ids!.length;
  const tokens = tokenViews(recorded, own.name, view);
  const last = prompt + tokens.length - 1;
  return [
    ...titled(
      `logits[${prompt - 1} … ${last - 1}] predict ids[${prompt} … ${last}] of ${own.name}; log-probs in nats by a second decoder, which computes this sequence alone`,
      width,
    ),
    ...alignColumns([
      ['row', 'token', 'predicts', 'log π', 'recorded', 'a row early', 'a row late'],
      ...boundary.map(({ row, input, predicts, logprob, before, after }) => [
        String(row),
        `${input}${row < prompt ? ' (prompt)' : ''}`,
        `${predicts}${row + 1 < prompt ? ' (prompt)' : ''}`,
        number(logprob),
        row + 1 < prompt ? 'not scored' : number(tokens[row + 1 - prompt]?.policy),
        number(before),
        number(after),
      ]),
    ]).map((line) => `  ${line}`),
  ];
}

/** Mean over the trained tokens of all completions. */
function meanRatio({ completions }: StepView): number | undefined {
  const own = completions.filter((one) => one.ratio !== undefined && (one.trained ?? one.tokens ?? 0) > 0);
  const weights = own.map(({ trained, tokens }) => trained ?? tokens ?? 0);
  return own.length > 0 ? sum(own.map((one, i) => one.ratio! * weights[i]!)) / sum(weights) : undefined;
}

/** What each completion adds to the loss, on either side. */
function completionTable(
  [recorded, replayed]: Sides,
  prompts: readonly number[] | undefined,
  width: number,
): string[] {
  const pairs = recorded.completions.map((one, i) => [one, replayed.completions[i]!] as const);
  const change = ([a, b]: readonly [CompletionView, CompletionView]) =>
    mean([Math.abs((b.policyLoss ?? 0) - (a.policyLoss ?? 0)), Math.abs((b.klLoss ?? 0) - (a.klLoss ?? 0))]);
  const moved = pairs.filter((pair) => change(pair) > 0).sort((a, b) => change(b) - change(a));
  const shown = prompts ? pairs.filter(([{ prompt }]) => prompts.includes(prompt)) : moved.slice(0, LISTED);
  if (shown.length === 0) return ['  No completion’s share of the loss changes.'];
  const columns: [string, (one: CompletionView) => string][] = [
    ['A', ({ advantage }) => signed(advantage)],
    ['policy', ({ policyLoss }) => signed(policyLoss, 6)],
    ['β × KL', ({ klLoss }) => signed(klLoss, 6)],
    ['clipped', ({ clipped }) => (clipped === undefined ? '–' : percent(clipped))],
  ];
  const used = columns.filter(([, cell]) => shown.some((pair) => pair.some((one) => cell(one) !== '–')));
  const title = prompts
    ? 'What each completion adds to the loss: recorded → replayed'
    : `What a completion adds to the loss, recorded → replayed: the ${shown.length} largest changes of ${moved.length}`;
  return [
    ...titled(title, width),
    ...alignColumns([
      ['', ...used.map(([name]) => name)],
      ...shown.map(([a, b]) => [a.name, ...used.map(([, cell]) => both(cell(a), cell(b)))]),
    ]).map((line) => `  ${line}`),
  ];
}

function tokensOf({ recorded, replayed }: Replay, name: string, width: number): string[] {
  const rowsOf = (record: Replay['recorded']) => tokenViews(record, name, viewOf(record, []));
  return tokenTable(name, rowsOf(recorded), width, rowsOf(replayed));
}
