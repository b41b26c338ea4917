import type { InspectionCheck, Renderer } from './check.js';
import { endChecks } from './end-checks.js';
import { rowChecks } from './row-checks.js';
import {
  type NamedPrompt,
  type RefusedRow,
  type RowOptions,
  type TemplateRow,
  templateRow,
} from './template-rows.js';
import { shapeOf, type TemplateShape } from './template-shape.js';

/** Prompts as a run makes ids of them, and what was found. */
interface PromptInspection {
  shape: TemplateShape | undefined;
  rows: (TemplateRow | RefusedRow)[];
  checks: InspectionCheck[];
}

/**
 * Renders prompts by the code of SFT, training and evaluation, and holds them to what a run needs.
 *
 * @param render - training's own stage, where a user replaced it
 */
export function inspectPrompts(
  model: Renderer,
  prompts: readonly NamedPrompt[],
  render?: RowOptions['render'],
): PromptInspection {
  const shape = shapeOf(model);
  const rows = prompts.map((prompt) => templateRow(model, prompt, { shape, render }));
  const rendered = rows.filter((row) => 'ids' in row);
  const asksTemplate = rendered.some(({ prompt }) => typeof prompt !== 'string');
  return {
    shape,
    rows,
    checks: [
      templateCheck(model, rows),
      ...rowChecks(model, rendered, { shape, ownStages: render ? ['render'] : [] }),
      ...endChecks(model, shape, asksTemplate),
    ],
  };
}

function templateCheck(model: Renderer, rows: readonly (TemplateRow | RefusedRow)[]): InspectionCheck {
  const name = 'template';
  const refused = rows.filter((row) => 'problem' in row);
  const plain = rows.filter((row) => 'ids' in row && typeof row.prompt === 'string');
  const log = rows.map((row) => `${row.name}: ${'problem' in row ? row.problem : 'rendered'}`);
  const [first] = refused;
  if (first)
    return {
      name,
      verdict: refused.length === rows.length ? 'fail' : 'inform',
      says: `${refused.length} of ${rows.length} prompts cannot be rendered (${first.name}): ${first.problem}.`,
      remedy: 'Ask without what the template refuses.',
      log,
    };
  if (!model.template)
    return {
      name,
      verdict: 'inform',
      says: 'There is no chat template: prompts are plain text, as a base model takes them.',
      log,
    };
  return plain.length > 0
    ? {
        name,
        verdict: 'inform',
        says: "Plain text has no assistant's header: right for a base model, blank or garbled for one that was trained on conversations.",
        remedy:
          'Without task.system the prompts of a run are plain text; with it they go through the template.',
        log,
      }
    : { name, verdict: 'pass', says: 'The template renders every prompt.', log };
}
