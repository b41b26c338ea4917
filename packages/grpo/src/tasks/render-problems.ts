import type { Model } from '../models/model.js';
import type { TemplateOptions } from '../text/chat-template.js';
import { type RenderedPrompt, renderPrompt } from '../text/render.js';
import type { Problem } from './task.js';

/** The prompts of problems, as training and evaluation render them. */
export const renderProblems = (
  { tokenizer, template }: Pick<Model, 'tokenizer' | 'template'>,
  problems: readonly Pick<Problem, 'prompt'>[],
  options?: TemplateOptions,
): RenderedPrompt[] => problems.map(({ prompt }) => renderPrompt(tokenizer, template, prompt, options));
