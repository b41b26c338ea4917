import type { ModelFolder } from '../models/folder/folder.js';
import type { InspectionCheck, Renderer } from './check.js';
import type { TemplateShape } from './template-shape.js';

/** An id that may end a turn. */
export interface EndToken {
  id: number;
  text: string;
  /** Files that name it, and `template` where it follows an answer. */
  sources: readonly string[];
  /** Whether sampling stops at it. */
  stops: boolean;
}

/** The token that the template writes after an answer, if that is a special one. */
function templateEnd({ tokenizer }: Renderer, shape: TemplateShape | undefined): number | undefined {
  const [id] = shape ? tokenizer.encode(shape.answerEnd.trimStart()) : [];
  return id !== undefined && tokenizer.isSpecial(id) ? id : undefined;
}

/** Every end token that a file or the template names, those that sampling stops at first. */
export function endTokens(
  model: Renderer & Pick<ModelFolder, 'endSources'>,
  shape: TemplateShape | undefined,
): EndToken[] {
  const named = model.endSources.flatMap(({ file, value }) =>
    [value ?? []].flat().map((id) => ({ id: id as number, source: file.replace(/^.*[/\\]/, '') })),
  );
  const end = templateEnd(model, shape);
  const all = [...named, ...(end === undefined ? [] : [{ id: end, source: 'template' }])];
  return [...new Set([...model.endIds, ...all.map(({ id }) => id)])].map((id) => ({
    id,
    text: model.tokenizer.decode([id]),
    sources: all.filter((one) => one.id === id).map(({ source }) => source),
    stops: model.endIds.has(id),
  }));
}

/**
 * What ends a completion, and what pads it.
 *
 * @param asks - whether any prompt is a conversation
 */
export function endChecks(
  model: Renderer,
  shape: TemplateShape | undefined,
  asks: boolean,
): InspectionCheck[] {
  return [endCheck(model, asks ? shape : undefined), answerCheck(asks ? shape : undefined), padCheck(model)];
}

function endCheck(model: Renderer, shape: TemplateShape | undefined): InspectionCheck {
  const name = 'end of turn';
  const { tokenizer, endIds } = model;
  const end = templateEnd(model, shape);
  const shown = (id: number) => `${id} ${tokenizer.decode([id])}`;
  const ids = [...endIds].map(shown).join(', ');
  const log = [
    `sampling stops at: ${ids}`,
    `after an answer the template writes: ${JSON.stringify(shape?.answerEnd ?? '')}`,
  ];
  if (end === undefined)
    return {
      name,
      verdict: 'not applicable',
      says: 'no template that writes an end token after an answer',
      log,
    };
  if (!endIds.has(end))
    return {
      name,
      verdict: 'warn',
      says: `The template ends a turn with ${shown(end)}, and completions end only at ${ids}: a model of this template writes on after its answer.`,
      remedy: `Add ${end} to eos_token_id in generation_config.json.`,
      log,
    };
  const [first] = endIds;
  return first === end
    ? { name, verdict: 'pass', says: `The template's end of a turn, ${shown(end)}, ends a completion.`, log }
    : {
        name,
        verdict: 'inform',
        says: `SFT ends an answer with ${shown(first!)}, the template with ${shown(end)}: sampling stops at both.`,
        remedy: `Make ${JSON.stringify(tokenizer.decode([end]))} the eos_token of tokenizer_config.json.`,
        log,
      };
}

/** Whether an answer stands in a conversation where sampling would have put it. */
function answerCheck(shape: TemplateShape | undefined): InspectionCheck {
  const name = 'whole conversations';
  if (!shape) return { name, verdict: 'not applicable', says: 'no template and conversation', log: [] };
  const { beforeAnswer, header, answerEnd } = shape;
  const log = [
    `header that opens an answer: ${JSON.stringify(header)}`,
    `before an answer in a conversation: ${JSON.stringify(beforeAnswer ?? 'another header')}`,
    `after it: ${JSON.stringify(answerEnd)}`,
  ];
  const remedy =
    'For SFT elsewhere, render the prompt with the generation prompt and append the answer, as npx grpo sft does.';
  if (beforeAnswer === undefined)
    return {
      name,
      verdict: 'warn',
      says: 'A conversation with its answer, rendered as a whole, does not begin with the prompt that training renders: an SFT that renders whole conversations learns another form.',
      remedy,
      log,
    };
  if (beforeAnswer !== '')
    return {
      name,
      verdict: 'inform',
      says: `Rendered as a whole, a conversation has ${JSON.stringify(beforeAnswer)} before its answer, which training's prompt does not open: an SFT that renders whole conversations learns another form.`,
      remedy,
      log,
    };
  return {
    name,
    verdict: 'pass',
    says: 'A conversation rendered with its answer begins with the prompt that training renders.',
    log,
  };
}

function padCheck({ tokenizer, endIds }: Renderer): InspectionCheck {
  const name = 'pad';
  const { padId } = tokenizer;
  const log = [
    `pad: ${padId === undefined ? 'none' : `${padId} ${tokenizer.padToken}`}`,
    `ends: ${[...endIds].join(' ')}`,
  ];
  if (padId === undefined)
    return {
      name,
      verdict: 'inform',
      says: 'The tokenizer names no pad token: a trainer that pads takes the end token, and must not mask by it. This one pads nothing.',
      log,
    };
  return endIds.has(padId)
    ? {
        name,
        verdict: 'inform',
        says: `The pad token ${padId} also ends a completion: a trainer that masks by it never trains the end (B12). This one pads nothing.`,
        remedy: 'Build masks from lengths.',
        log,
      }
    : { name, verdict: 'pass', says: `The pad token ${padId} ends no completion.`, log };
}
