/** A recorded step as a page of text: ten phases, each with its numbers and the doctor's word on it. */

import type { Finding } from '../../doctor/finding.js';
import type { Evidence } from '../../doctor/outcome.js';
import { entryOf, sentenceOf } from '../../doctor/registry.js';
import { formatValue, percent } from '../../doctor/sentence.js';
import { excerpt } from '../../errors/printable.js';
import { sum } from '../../maths/moments.js';
import type { Lack } from '../../view/lacks.js';
import type { MaskedView } from '../../view/masked-view.js';
import type { PhaseVerdict } from '../../view/phases.js';
import type { StepView } from '../../view/step-view.js';
import type { TokenView } from '../../view/token-view.js';
import { number, signed } from '../cells.js';
import { colors } from '../colors.js';
import { place } from '../doctor/examined.js';
import { shortened, wrap } from '../text-layout.js';
import { groupTable, lossTable } from './tables.js';
import { tokenTable } from './token-table.js';

export interface PageOptions {
  /** Prompts whose groups are shown. */
  prompts: readonly number[];
  tokens: { name: string; rows: readonly TokenView[] } | undefined;
  /** Whether what each completion adds to the loss is shown. */
  loss: boolean;
  /** How the answers to the prompts of the step have changed, where that was measured. */
  change?: readonly string[];
  width: number;
}

export function stepPage(path: string, view: StepView, options: PageOptions): string {
  const page = new Page(view, options.width);
  const lines = [
    ...[headOf(path, view), ...extentOf(view)].flatMap((text) => wrap(text, options.width)),
    '',
    ...page.phase(0, 'Prompt', promptLines(view, options)),
    ...page.phase(1, 'Sample', sampleLines(view)),
    ...page.phase(2, 'Reward', rewardLines(view)),
    ...page.phase(3, 'Advantage', advantageLines(view, options)),
    '',
    ...options.prompts.flatMap((prompt) => [...groupTable(view, prompt, options.width), '']),
    ...hintOf(view, options),
    ...(options.tokens ? [...tokenTable(options.tokens.name, options.tokens.rows, options.width), ''] : []),
    ...page.phase(4, 'Log-prob', logprobLines(view, options)),
    ...page.phase(5, 'Loss', lossLines(view)),
    ...(options.loss ? ['', ...lossTable(view), ''] : []),
    ...page.phase(6, 'Gradient', gradientLines(view)),
    ...page.phase(7, 'Update', updateLines(view)),
    ...page.phase(8, 'Before and after', options.change ?? ['not measured: a record is of one moment']),
    ...page.phase(9, 'Verdict', verdictLines(view, options.width)),
    ...page.lines('   Time', timeLines(view)),
  ];
  return `${lines.join('\n')}\n`;
}

/** Columns of the name of a phase. */
const NAME = 20;

/** Lays out phases: number and name on the left, the doctor's word at the end of the first line. */
class Page {
  constructor(
    private readonly view: StepView,
    private readonly width: number,
  ) {}

  phase(index: number, name: string, own: readonly string[]): string[] {
    const verdict = this.view.verdicts[index]!;
    const head = `${String(index + 1).padStart(2)} ${name}`;
    const [first, ...rest] = this.lines(head, own.length > 0 ? own : ['not recorded']);
    const says = index < 9 ? verdict.findings.flatMap((one) => this.#finding(one)) : [];
    const mark = own.length > 0 || says.length > 0 ? markOf(verdict) : '';
    return [`${first!.padEnd(this.width - 4)}${mark}`.trimEnd(), ...rest, ...says];
  }

  /** Lines behind a name, which leave room for a mark. */
  lines(name: string, own: readonly string[]): string[] {
    const wrapped = own.flatMap((line) => wrap(line, this.width - NAME - 5));
    return wrapped.map((line, i) => (i === 0 ? name : '').padEnd(NAME) + line);
  }

  #finding(finding: Finding): string[] {
    const cause = finding.inducedBy;
    const from = cause ? ` (${cause.sure ? 'follows' : 'may follow'} from ${cause.code})` : '';
    const text = `${LABELS[finding.severity]} ${finding.code}: ${sentenceOf(finding)}${from}`;
    const [first] = finding.evidence;
    const at = first && this.#placeOf(first);
    const where = at ? wrap(`     first ${at}`, this.width - NAME) : [];
    const lines = [...wrap(text, this.width - NAME), ...where];
    return lines.map((line) => ' '.repeat(NAME) + line);
  }

  /** The completion and token where it begins, by their names on the page. */
  #placeOf({ completion, token, text, values }: Evidence): string | undefined {
    const name = completion === undefined ? undefined : this.view.completions[completion]?.name;
    if (name === undefined) return undefined;
    const at = token === undefined ? `in ${name}` : `in ${name}, token ${token}`;
    const told = place({ text, values });
    return told ? `${at}: ${told}` : at;
  }
}

const LABELS = { fail: 'FAIL', warn: 'WARN', inform: 'note' } as const;

/** `ok` where checks were judged and none found anything; nothing where none could be judged. */
function markOf({ phase, judged, findings }: PhaseVerdict): string {
  if (phase === 'verdict' || judged === 0) return '';
  if (findings.some(({ severity }) => severity === 'fail')) return colors.red('FAIL');
  if (findings.some(({ severity }) => severity === 'warn')) return colors.yellow('WARN');
  return colors.green('ok');
}

function headOf(path: string, { step, producer, declared, prompts, completions, seed }: StepView): string {
  const { objective, rollout, kl, entropy, optimizer } = declared;
  const group = prompts.length > 0 ? completions.length / prompts.length : undefined;
  const parts = [
    `Step ${step} of ${path}`,
    producer,
    objective?.loss,
    group === undefined ? undefined : `${prompts.length} prompts × ${Number(group.toFixed(2))}`,
    rollout?.temperature === undefined ? undefined : `T ${rollout.temperature}`,
    kl?.beta === undefined
      ? undefined
      : `β ${kl.beta}${kl.beta ? ` (${kl.estimator ?? 'estimator unknown'})` : ''}`,
    entropy?.coefficient ? `entropy bonus ${formatValue(entropy.coefficient)}` : undefined,
    optimizer?.learningRate === undefined ? undefined : `lr ${formatValue(optimizer.learningRate)}`,
    seed === undefined ? undefined : `seed ${seed}`,
  ];
  return parts.filter((part) => part !== undefined).join(' · ');
}

/** Only our own runs have settings to change, and weights to load. */
const isOurs = (producer: string) => producer.split(' ')[0] === 'grpo';

/** A run keeps texts and rewards of every step, the rest of some. */
function extentOf({ sample, loss, producer }: StepView): string[] {
  if (loss || sample.shortest !== undefined) return [];
  const how = isOurs(producer) ? '; record.every sets which steps have a full record' : '';
  return [`Only texts and rewards of this step were recorded${how}.`];
}

function promptLines({ prompts }: StepView, { prompts: shown }: PageOptions): string[] {
  const one = prompts[shown[0] ?? 0];
  if (!one) return [];
  const ids = one.ids;
  const parts = [
    `p${one.index} ${one.text === undefined ? '(no text)' : excerpt(one.text)}`,
    ids && `${ids.length} ids ${idsText(ids)}`,
    one.bos === undefined ? undefined : bosText(one.bos, one.expectedBos),
    one.ending && ENDINGS[one.ending],
    one.answer === undefined ? undefined : `answer ${excerpt(one.answer)}`,
  ];
  return [parts.filter((part) => part !== undefined).join(' · ')];
}

const bosText = (count: number, expected: number | undefined) =>
  expected === undefined ? `${count} BOS` : `${count} BOS, ${expected} expected`;

const ENDINGS = {
  plain: 'plain text, no header of an assistant',
  header: 'ends in the assistant’s header',
  other: 'does NOT end in the assistant’s header',
} as const;

const idsText = (ids: readonly number[]) =>
  ids.length <= 8 ? `[${ids.join(' ')}]` : `[${ids.slice(0, 4).join(' ')} … ${ids.slice(-3).join(' ')}]`;

function sampleLines({ sample, completions, masked, declared: { rollout }, prompts }: StepView): string[] {
  if (completions.length === 0) return [];
  const distinct = prompts.every(({ distinct }) => distinct !== undefined)
    ? `${sum(prompts.map(({ distinct }) => distinct!))} of ${completions.length} distinct`
    : `${completions.length} completions`;
  const { shortest, longest, ended, cut, entropy } = sample;
  const first = [
    distinct,
    shortest === undefined ? undefined : `${shortest}–${longest} tokens`,
    ended === undefined
      ? undefined
      : `${ended} ended, ${cut} cut${rollout?.maxNewTokens ? ` at ${rollout.maxNewTokens}` : ''}`,
    entropy === undefined ? undefined : `entropy ${formatValue(entropy)} nats per token`,
  ];
  const from = rollout?.temperature === undefined ? [] : [`drawn from ${distributionOf(rollout)}`];
  const filled =
    masked?.steps === undefined
      ? []
      : [
          `filled in ${masked.steps === 1 ? 'one step' : `${masked.steps} steps`}, in blocks of ${masked.blockLength ?? 'one'} places`,
        ];
  return [first.filter((part) => part !== undefined).join(' · '), ...from, ...filled];
}

function distributionOf(rollout: NonNullable<StepView['declared']['rollout']>): string {
  const { temperature, topP = 1, topK = 0, minP = 0 } = rollout;
  const cuts = [
    ...(topK > 0 ? [`top-k ${topK}`] : []),
    ...(topP < 1 ? [`top-p ${topP}`] : []),
    ...(minP > 0 ? [`min-p ${minP}`] : []),
  ];
  const softmax =
    temperature === 0
      ? 'the likeliest token'
      : temperature === 1
        ? 'softmax(logits)'
        : `softmax(logits / ${temperature})`;
  return `${softmax}, ${cuts.length > 0 ? cuts.join(', ') : 'nothing truncated'}`;
}

function rewardLines({ rewards, completions }: StepView): string[] {
  if (rewards.length === 0) return [];
  const totals = completions.flatMap(({ total }) => total ?? []);
  const other = completions.filter(({ sampledText }) => sampledText !== undefined);
  const [first] = other;
  const texts = first
    ? [`${other.length} graded texts are not those that were sampled, that of ${first.name} the first`]
    : [];
  const sums = rewards.map(
    ({ name, weight, mean }) =>
      `${name}${weight === undefined ? '' : ` × ${weight}`} (mean ${number(mean, 3)})`,
  );
  const mean =
    totals.length > 0
      ? [
          `total ${number(sum(totals) / totals.length, 3)} on average, ${formatValue(Math.min(...totals))} to ${formatValue(Math.max(...totals))}`,
        ]
      : [];
  return [sums.join(' + '), ...mean, ...texts];
}

function advantageLines(
  { prompts, declared: { advantage } }: StepView,
  { prompts: shown }: PageOptions,
): string[] {
  const one = prompts[shown[0] ?? 0];
  if (one?.advantages === undefined) return [];
  const how =
    advantage?.scale === 'none'
      ? ''
      : `, deviation ${number(one.deviation, 3)} (n − ${advantage?.ddof ?? 1})${advantage?.epsilon ? ` + ${formatValue(advantage.epsilon)}` : ''}`;
  const signal = prompts.filter((prompt) => prompt.signal).length;
  const others = signal < prompts.length ? ': in the others all rewards are equal, and advantages 0' : '';
  return [
    `p${one.index}: mean ${number(one.mean, 3)}${how}; Σ A = ${number(Math.abs(one.advantages) < 5e-5 ? 0 : one.advantages)}`,
    `signal in ${signal} of ${prompts.length} groups${others}`,
  ];
}

function hintOf({ prompts, completions }: StepView, { prompts: shown, tokens }: PageOptions): string[] {
  const others = prompts.length - shown.length;
  const hints = [
    ...(others > 0
      ? [
          `${others} more prompt${others > 1 ? 's' : ''}: --prompt ${shown[0] === 0 ? 1 : 0}, or --show groups`,
        ]
      : []),
    ...(tokens || completions.length === 0
      ? []
      : [
          `every token: --completion ${completions.find(({ prompt }) => prompt === shown[0])?.name ?? '0.0'}`,
        ]),
  ];
  return hints.length > 0 ? [`  ${hints.join('; ')}`, ''] : [];
}

function estimateLine({ estimator, passes, hiddenPrompt, hiddenRegion, shifted }: MaskedView): string {
  const hidden =
    passes === undefined
      ? []
      : [
          `${passes === 1 ? 'one pass' : `${passes} passes`} per completion`,
          `${percent(hiddenRegion ?? 0)} of its places and ${percent(hiddenPrompt ?? 0)} of the prompt hidden`,
        ];
  const rows = `logits[i] predict ids[${shifted ? 'i + 1' : 'i'}]`;
  return [`estimate ${estimator ?? 'not declared'}`, ...hidden, rows].join(' · ');
}

function logprobLines(view: StepView, { prompts: shown }: PageOptions): string[] {
  const { sample, completions, scoring, updates, masked } = view;
  const ratios = completions.flatMap(({ ratio }) => ratio ?? []);
  const beyond = updates[0]?.beyondClip;
  const againText = (of: string, apart: number | undefined) =>
    apart === undefined ? [] : [`${of}: ${apart === 0 ? 'equal' : `within ${formatValue(apart)} nats`}`];
  const first = completions.find(({ prompt }) => prompt === shown[0]);
  const ids = first && view.prompts[first.prompt]?.ids?.length;
  return [
    ...(masked ? [estimateLine(masked)] : []),
    ...(ids && first.tokens && !masked
      ? [
          `logits[${ids - 1} … ${ids + first.tokens - 2}] predict ids[${ids} … ${ids + first.tokens - 1}] of ${first.name}`,
        ]
      : []),
    [
      ...(sample.gap === undefined
        ? []
        : [`at most ${formatValue(sample.gap)} nats per token from the sampler’s`]),
      ...againText('scored twice', scoring.twice),
      ...againText('alone in the batch', scoring.alone),
    ].join(' · '),
    ratios.length === 0
      ? ''
      : `ratio ${number(Math.min(...ratios))} to ${number(Math.max(...ratios))} by completion, ${percent(beyond ?? 0)} of the tokens beyond the clip range`,
  ].filter(Boolean);
}

function lossLines({ loss, declared, updates, producer }: StepView): string[] {
  if (!loss) return [];
  const { components, largest, kl, trained, tokens } = loss;
  const shareOf = (part: 'policy' | 'KL') => {
    const own = largest.find((one) => one.part === part);
    return own ? `; completion ${own.name} makes ${percent(own.share)} of it` : '';
  };
  const isZero = components.some(({ name, value }) => name === 'policy' && Math.abs(value) < 1e-6);
  return [
    ...components.map(({ name, coefficient, value }) => {
      const product = coefficient === 1 ? '' : ` = ${formatValue(coefficient)} × ${formatValue(value)}`;
      return `${name.padEnd(8)} ${signed(coefficient * value, 6)}${product}${name === 'policy' ? shareOf('policy') : name.startsWith('kl') ? shareOf('KL') : ''}`;
    }),
    ...(isZero
      ? ['a policy term of about 0 is usual at ratio 1: advantages sum to 0, their gradient does not']
      : []),
    ...(loss.loss === undefined
      ? []
      : [
          `${'loss'.padEnd(8)} ${signed(loss.loss, 6)}${updates.length > 1 ? `, of the first of ${updates.length} updates` : ''}`,
        ]),
    ...(trained === undefined ? [] : [`${trained} of ${tokens} tokens enter it`]),
    ...(kl
      ? [
          `KL to the reference, nats per token: k1 ${number(kl.k1)} · k2 ${number(kl.k2)} · k3 ${number(kl.k3)}${declared.kl?.estimator ? `; the loss takes ${declared.kl.estimator}` : ''}${isOurs(producer) ? '; kl.estimator=full computes the full one with the model' : ''}`,
        ]
      : []),
  ];
}

function gradientLines({ updates: [update] }: StepView): string[] {
  if (update?.gradNorm === undefined) return [];
  const { gradNorm, gradNorms, clippedBy } = update;
  const clip =
    clippedBy === undefined ? '' : clippedBy < 1 ? `, clipped: × ${number(clippedBy, 3)}` : ', not clipped';
  const groups = Object.entries(gradNorms ?? {}).map(([name, norm]) => `${name} ${formatValue(norm)}`);
  return [`norm ${formatValue(gradNorm)}${clip}`, ...(groups.length > 0 ? [groups.join(' · ')] : [])];
}

function updateLines({ updates }: StepView): string[] {
  return updates.flatMap((update, i) => {
    const { changedShare, changedWeightShare, updateNorm, learningRate, loss, beyondClip } = update;
    // The phases before show those of the first.
    const parts = [
      i === 0 || loss === undefined ? undefined : `loss ${signed(loss, 6)}`,
      i === 0 || beyondClip === undefined
        ? undefined
        : `${percent(beyondClip)} of the tokens beyond the clip range`,
      changedShare === undefined ? undefined : `${percent(changedShare)} of the weights moved`,
      changedWeightShare === undefined
        ? undefined
        : `${percent(changedWeightShare)} of those that the forward pass reads`,
      updateNorm === undefined ? undefined : `norm of the change ${formatValue(updateNorm)}`,
      learningRate === undefined ? undefined : `lr ${formatValue(learningRate)}`,
    ].filter((part) => part !== undefined);
    return parts.length > 0 ? [`${updates.length > 1 ? `update ${i + 1}: ` : ''}${parts.join(' · ')}`] : [];
  });
}

function verdictLines({ verdicts, prompts }: StepView, width: number): string[] {
  const { judged, checks, lacks, findings } = verdicts.at(-1)!;
  const signal = prompts.filter(({ signal }) => signal).length;
  const serious = findings.filter(({ severity }) => severity !== 'inform');
  const causes = serious.filter(({ inducedBy }) => !inducedBy?.sure);
  const following = serious.length - causes.length;
  const says =
    serious.length === 0
      ? ['nothing wrong']
      : [
          ...causes.map((one) => `${LABELS[one.severity]} ${one.code}, ${entryOf(one.code).name}`),
          ...(following > 0
            ? [`${following} more follow${following === 1 ? 's' : ''} from what is named here`]
            : []),
        ];
  const groups = prompts.some((prompt) => prompt.signal !== undefined)
    ? [`signal in ${signal} of ${prompts.length} groups`]
    : [];
  const made = `${judged} checks were made${judged < checks ? `, ${checks - judged} were not (no passes):` : ''}`;
  const room = width - NAME - 5;
  return [...says, ...groups, made, ...lacks.map((lack) => shortened(lackText(lack), room))];
}

/** One line: how many checks, which part of the record they need, and what of it. */
function lackText({ of, checks, reasons }: Lack): string {
  if (of === 'log') return `${checks} need a log of the run`;
  if (of === 'case') return `${checks} need what this step does not have: ${reasons.join(', ')}`;
  const names = reasons.map((reason) => reason.replace(/^\w+[.:]? ?/, '')).filter((name) => name !== '');
  return `${checks} need ${[of, ...(names.length > 0 ? [names.join(', ')] : [])].join(': ')}`;
}

function timeLines({ stages }: StepView): string[] {
  const total = sum(stages.map(({ seconds }) => seconds));
  if (total === 0) return [];
  const sorted = [...stages].sort((a, b) => b.seconds - a.seconds);
  const parts = sorted
    .slice(0, 4)
    .map(({ name, seconds }) => `${name} ${seconds.toPrecision(2)} s, ${percent(seconds / total)}`);
  return [parts.join(' · ')];
}
