import { excerpt } from '../errors/printable.js';
import { countLeading, firstDifference, isSame } from '../maths/lists.js';
import type { Renderer } from './check.js';
import { DAY, partsOf, withTemplateBos } from './conversation-parts.js';
import { hasSpecialToken, type TemplateShape } from './template-shape.js';

/** Why somebody's prompt differs from ours, and what to do about it. */
export interface LikelyCause {
  cause: string;
  remedy: string;
}

/** The ids of a prompt that another program asked with, and those of training. */
interface IdPair {
  theirs: readonly number[];
  ours: readonly number[];
}

/**
 * The causes that explain a difference of ids, one after another: what one cause explains is taken away before the next
 * is looked for.
 *
 * @param encoded - whether `theirs` was encoded from a text here, with the tokenizer's special tokens
 */
export function likelyCauses(
  model: Renderer,
  shape: TemplateShape | undefined,
  pair: IdPair,
  encoded: boolean,
): LikelyCause[] {
  const { tokenizer } = model;
  if (tokenizer.decode(pair.theirs) === tokenizer.decode(pair.ours)) return [SAME_TEXT];
  const [bosTheirs, bosOurs] = [pair.theirs, pair.ours].map((ids) => countLeading(ids, tokenizer.bosId)) as [
    number,
    number,
  ];
  const theirs = pair.theirs.slice(bosTheirs);
  const ours = pair.ours.slice(bosOurs);
  const bos = bosCause({ theirs: bosTheirs, ours: bosOurs }, encoded);
  if (isSame(theirs, ours)) return bos;
  const [their, our] = [tokenizer.decode(theirs), tokenizer.decode(ours)];
  return [...bos, ...textCauses(model, shape, their, our)];
}

const SAME_TEXT: LikelyCause = {
  cause:
    'The text is the same and its ids are not: it was encoded in parts, or special tokens as plain letters.',
  remedy: 'Encode the whole rendered text at once, with a tokenizer that knows its special tokens.',
};

function bosCause({ theirs, ours }: { theirs: number; ours: number }, encoded: boolean): LikelyCause[] {
  if (theirs === ours) return [];
  if (theirs > ours && ours > 0)
    return [
      {
        cause: encoded
          ? `Double BOS: the text already holds one, and encoding with special tokens, as tokenizers do unless asked otherwise, puts another in front.`
          : `Double BOS: ${theirs} in front, ${ours} in training.`,
        remedy: 'Encode rendered text with add_special_tokens=False.',
      },
    ];
  return theirs > ours
    ? [
        {
          cause: 'A BOS stands in front, and training has none.',
          remedy: 'Encode with add_special_tokens=False.',
        },
      ]
    : [{ cause: 'The BOS in front is missing.', remedy: 'Let the template or the tokenizer add it, once.' }];
}

/** Causes that the texts show, without their BOS. */
function textCauses(
  model: Renderer,
  shape: TemplateShape | undefined,
  theirs: string,
  ours: string,
): LikelyCause[] {
  const isMarked = (text: string) => hasSpecialToken(model, text);
  const { bosToken } = model.tokenizer;
  if (shape && isMarked(ours) && !isMarked(theirs))
    return [
      {
        cause: 'Plain text: nothing of the chat template is there, and no header opens the answer.',
        remedy: 'Render it with tokenizer.apply_chat_template(messages, add_generation_prompt=True).',
      },
    ];
  if (isMarked(theirs) && !isMarked(ours))
    return [
      {
        cause: 'It is rendered through a chat template, and training asks in plain text.',
        remedy: 'Write task.system=… so that training asks through the template, too.',
      },
    ];
  if (unspaced(theirs) === unspaced(ours)) return [spaceCause(theirs, ours)];
  const own = shape && partsOf(shape, withTemplateBos(shape, bosToken, ours));
  const other = shape && partsOf(shape, withTemplateBos(shape, bosToken, theirs));
  if (!shape || !own) return [elsewhere(theirs, ours)];
  if (!other)
    return [
      {
        cause: `Another template: ${atDifference(theirs, ours)}.`,
        remedy: 'Take the chat template of this folder in both places.',
      },
    ];
  const causes: LikelyCause[] = [];
  if (other.tail.trim() !== own.tail.trim()) causes.push(tailCause(other.tail, shape.header));
  else if (other.tail !== own.tail) causes.push(spaceCause(other.tail, own.tail));
  if ((other.system ?? '').trim() !== (own.system ?? '').trim())
    causes.push({
      cause: `The system message is ${shown(other.system)} there and ${shown(own.system)} in training.`,
      remedy: 'Ask with the same system message in both: task.system=…',
    });
  if (other.user !== own.user)
    causes.push(
      other.user.trim() === own.user.trim()
        ? spaceCause(other.user, own.user)
        : {
            cause: `It asks another question: ${excerpt(other.user)}, not ${excerpt(own.user)}.`,
            remedy: 'Give the same question with --prompt.',
          },
    );
  const days = [theirs, ours].map((text) => text.match(DAY)?.[0]);
  if (days[0] !== days[1])
    causes.push({
      cause: `The date is another: ${days[0] ?? 'none'} there, ${days[1] ?? 'none'} in training.`,
      remedy: 'Write a fixed date into the chat template, or pass date_string in both places.',
    });
  return causes.length > 0 ? causes : [elsewhere(theirs, ours)];
}

function tailCause(tail: string, header: string): LikelyCause {
  return tail.trim() === ''
    ? {
        cause: `The assistant's header ${JSON.stringify(header)} is missing at the end: the model goes on with the user's turn, or ends at once.`,
        remedy: 'Render with add_generation_prompt=True.',
      }
    : {
        cause: `After the user's turn stands ${excerpt(tail)}, in training ${excerpt(header)}.`,
        remedy: 'Let the template write what opens the answer.',
      };
}

function spaceCause(theirs: string, ours: string): LikelyCause {
  const place =
    theirs.trimEnd() === ours.trimEnd()
      ? `at the end: ${JSON.stringify(ending(theirs))} there, ${JSON.stringify(ending(ours))} in training`
      : atDifference(theirs, ours);
  return {
    cause: `White space differs ${place}.`,
    remedy: 'Keep every byte of the rendered text: no strip, no added newline.',
  };
}

const elsewhere = (theirs: string, ours: string): LikelyCause => ({
  cause: `The texts differ: ${atDifference(theirs, ours)}.`,
  remedy: 'Render both with one function.',
});

function atDifference(theirs: string, ours: string): string {
  const at = firstDifference(theirs, ours) ?? 0;
  const from = Math.max(0, at - 12);
  return `${excerpt(theirs.slice(from, at + 28))} there, ${excerpt(ours.slice(from, at + 28))} in training`;
}

const ending = (text: string) => text.slice(text.trimEnd().length);
const unspaced = (text: string) => text.replace(/\s+/g, '');
const shown = (text: string | undefined) => (text === undefined ? 'missing' : excerpt(text));
