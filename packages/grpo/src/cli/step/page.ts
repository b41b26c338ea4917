/** A recorded step as a page of text: ten phases, each with its numbers and the doctor's word on it. */

import type { Finding } from '../../doctor/finding.js';
import type { Evidence } from '../../doctor/outcome.js';
import { entryOf, sentenceOf } from '../../doctor/registry.js';
import { formatValue, percent } from '../../doctor/sentence.js';
import { sum } from '../../maths/moments.js';
import type { Lack } from '../../view/lacks.js';
import type { PhaseVerdict } from '../../view/phases.js';
import { place } from '../../view/report/examined.js';
import type { StepView } from '../../view/step-view.js';
import type { TokenView } from '../../view/token-view.js';
import { colors } from '../colors.js';
import { shortened, wrap } from '../text-layout.js';
import { advantageLines, promptLines, rewardLines, sampleLines } from './rollout-lines.js';
import { groupTable, lossTable } from './tables.js';
import { tokenTable } from './token-table.js';
import { gradientLines, isOurs, logprobLines, lossLines, updateLines } from './training-lines.js';

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
    ...page.phase(0, 'Prompt', promptLines(view, options.prompts)),
    ...page.phase(1, 'Sample', sampleLines(view)),
    ...page.phase(2, 'Reward', rewardLines(view)),
    ...page.phase(3, 'Advantage', advantageLines(view, options.prompts)),
    '',
    ...options.prompts.flatMap((prompt) => [...groupTable(view, prompt, options.width), '']),
    ...hintOf(view, options),
    ...(options.tokens ? [...tokenTable(options.tokens.name, options.tokens.rows, options.width), ''] : []),
    ...page.phase(4, 'Log-prob', logprobLines(view, options.prompts)),
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

/** A run keeps texts and rewards of every step, the rest of some. */
function extentOf({ sample, loss, producer }: StepView): string[] {
  if (loss || sample.shortest !== undefined) return [];
  const how = isOurs(producer) ? '; record.every sets which steps have a full record' : '';
  return [`Only texts and rewards of this step were recorded${how}.`];
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
