import { FormatError } from '../errors/format-error.js';
import { UserError } from '../errors/user-error.js';
import { describeJson, isObject, jsonProblem } from '../formats/json.js';
import { readWhole } from '../formats/read-file.js';
import { decodeUtf8 } from '../formats/utf8.js';
import { countLeading, firstDifference, isSame } from '../maths/lists.js';
import { asPrompt } from '../tasks/prompt.js';
import { renderProblems } from '../tasks/render-problems.js';
import type { Prompt } from '../text/message.js';
import type { InspectionCheck, Renderer } from './check.js';
import { hasMoreTurns, messagesOf, partsOf, withTemplateBos } from './conversation-parts.js';
import { type LikelyCause, likelyCauses } from './likely-causes.js';
import type { TemplateRow } from './template-rows.js';
import { hasSpecialToken, type TemplateShape } from './template-shape.js';

/** Somebody's prompt beside what training renders of the same question. */
export interface PathComparison {
  path: string;
  ids: readonly number[];
  /** BOS tokens in front. */
  bos: number;
  /** The ids of training, and what they were rendered from. */
  ours: readonly number[];
  from: string;
  /** Whether it holds more turns than one, and no row has them: then nothing of ours is comparable. */
  hasMoreTurns: boolean;
  /** Place of the first id that differs; null where all are equal. */
  first: number | null;
  causes: readonly LikelyCause[];
}

const MAX_BYTES = 2 ** 24;

/** What a comparison knows of training. */
interface Training {
  shape: TemplateShape | undefined;
  rows: readonly TemplateRow[];
  /** How the run asks a question. Without a run a text goes through the template, where there is one. */
  ask?: ((question: string) => Prompt) | undefined;
}

/**
 * Compares the prompt in a file with training's: a text, encoded as tokenizers do unless asked otherwise, or ids as JSON.
 *
 * @throws FormatError for a file that holds neither
 */
export function comparePath(model: Renderer, path: string, training: Training): PathComparison {
  const { tokenizer } = model;
  const text = decodeUtf8(path, 'the prompt', readWhole(path, 'the prompt', MAX_BYTES));
  const given = /\.json$/i.test(path) ? idsIn(path, text) : undefined;
  const ids = given ?? tokenizer.encode(text, { specialTokens: true });
  const bos = countLeading(ids, tokenizer.bosId);
  const { ours, from, more = false } = counterpart(model, ids, bos, training);
  const first = firstDifference(ids, ours) ?? null;
  const causes =
    first === null ? [] : likelyCauses(model, training.shape, { theirs: ids, ours }, given === undefined);
  return { path, ids, bos, ours, from, hasMoreTurns: more, first, causes };
}

/**
 * What training renders of the question in these ids: an equal row, or the question that the template is found around,
 * or the row that is most alike.
 */
function counterpart(
  model: Renderer,
  ids: readonly number[],
  bos: number,
  { shape, rows, ask }: Training,
): { ours: readonly number[]; from: string; more?: boolean } {
  const { tokenizer, template } = model;
  const equal = rows.find((row) => isSame(row.ids, ids));
  if (equal) return { ours: equal.ids, from: equal.name };
  const words = ids.slice(bos);
  const text = withoutBos(tokenizer.decode(ids), tokenizer.bosToken);
  const parts = shape && partsOf(shape, withTemplateBos(shape, tokenizer.bosToken, text));
  const question = parts?.user ?? (template && hasSpecialToken(model, text) ? undefined : text.trimEnd());
  const asDefault = (user: string) => (parts ? messagesOf(parts) : template ? asPrompt(user, '') : user);
  if (question !== undefined && question !== '') {
    const [own] = renderProblems(model, [{ prompt: (ask ?? asDefault)(question) }]);
    const more = shape !== undefined && parts !== undefined && hasMoreTurns(shape, parts);
    return { ours: own!.ids, from: 'the same question', more };
  }
  const likeness = (row: TemplateRow) => shared(words, row.ids.slice(row.bos));
  const [first, ...more] = rows;
  if (!first) throw new UserError('no prompt can be rendered, so there is nothing to compare with');
  const nearest = more.reduce((best, row) => (likeness(row) > likeness(best) ? row : best), first);
  return { ours: nearest.ids, from: nearest.name };
}

/** A BOS may also be spelled in letters. */
function withoutBos(text: string, bos: string | undefined): string {
  let rest = text;
  while (bos && rest.startsWith(bos)) rest = rest.slice(bos.length);
  return rest;
}

/** Ids that two lists share at their beginnings and at their ends. */
function shared(a: readonly number[], b: readonly number[]): number {
  const start = firstDifference(a, b) ?? a.length;
  const most = Math.min(a.length, b.length) - start;
  let end = 0;
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return start + end;
}

/** A list of ids, by itself or under a name that tokenizers and servers give it; of a batch of one, its row. */
function idsIn(path: string, text: string): number[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new FormatError(path, `the ids are not valid JSON: ${jsonProblem(cause, text)}`, { cause });
  }
  const named = isObject(value) ? (value.input_ids ?? value.prompt_token_ids ?? value.ids) : value;
  const list: unknown =
    Array.isArray(named) && named.length === 1 && Array.isArray(named[0]) ? named[0] : named;
  if (Array.isArray(list) && list.length > 0 && list.every((id) => Number.isSafeInteger(id) && id >= 0))
    return list as number[];
  throw new FormatError(
    path,
    `must hold the ids of one prompt: a list of whole numbers, or {"input_ids": [...]}; found ${describeJson(named)}`,
  );
}

/** The comparison as a check. */
export function pathCheck(comparison: PathComparison, model: Renderer): InspectionCheck {
  const { path, ids, ours, from, first, causes } = comparison;
  const token = (id: number | undefined) =>
    id === undefined ? 'its end' : `${id} ${JSON.stringify(model.tokenizer.decode([id]))}`;
  const log = [
    `there    (${ids.length}): ${ids.join(' ')}`,
    `training (${ours.length}): ${ours.join(' ')}`,
    `there:    ${JSON.stringify(model.tokenizer.decode(ids))}`,
    `training: ${JSON.stringify(model.tokenizer.decode(ours))}`,
    `training's is of: ${from}`,
  ];
  const name = `path ${path}`;
  if (first === null)
    return { name, verdict: 'pass', says: `${path} holds the ids that training renders (${from}).`, log };
  if (comparison.hasMoreTurns)
    return {
      name,
      verdict: 'warn',
      says: `${path} holds several turns, and none of the rows has them: it cannot be compared with what training renders.`,
      remedy: 'Give a prompt of one question, or --config of a run whose rows hold the conversation.',
      log,
    };
  return {
    name,
    verdict: 'fail',
    says: `${path} differs from what training renders (${from}), first at id ${first}: ${token(ids[first])} there, ${token(ours[first])} in training. ${causes.map(({ cause }) => cause).join(' ')}`,
    remedy: causes.map(({ remedy }) => remedy).join(' '),
    log,
  };
}
