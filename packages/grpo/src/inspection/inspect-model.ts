import { diffusionSection } from '../config/sections/diffusion.js';
import { evalSection } from '../config/sections/progress.js';
import { rolloutSection } from '../config/sections/rollout.js';
import { refuseUnknown } from '../config/unknown-option.js';
import { modelFolder } from '../hub/model-folder.js';
import { endIdsOf, readModelFolder } from '../models/folder/folder.js';
import { asPrompt } from '../tasks/prompt.js';
import type { InspectionCheck } from './check.js';
import { type DecodingRow, decodingCheck, decodingRows } from './decoding.js';
import { type EndToken, endTokens } from './end-checks.js';
import { inspectPrompts } from './inspect-prompts.js';
import { type Padding, paddingOf } from './padding.js';
import { comparePath, type PathComparison, pathCheck } from './path-prompt.js';
import { type InspectedRun, promptsOf, runChecks } from './run-checks.js';
import { matrixOf, type RefusedRow, type TemplateRow } from './template-rows.js';

/** What {@link inspectModel} takes. */
export interface InspectOptions {
  /** Questions of the table, each with system messages, without one, and as plain text; a greeting when left out. */
  prompts?: readonly string[];
  /** Files with a prompt of another program: its text, or its ids as JSON. */
  paths?: readonly string[];
  /** A run: its first prompts in place of the table, its task, and its settings. */
  run?: InspectedRun;
}

/** A model folder's tokenizer, template and settings, as a run meets them. */
export interface Inspection {
  model: string;
  tokens: {
    bos: { id: number; text: string; addedBy: 'tokenizer' | 'template' | 'both' | 'nobody' } | null;
    pad: { id: number; text: string } | null;
    ends: readonly EndToken[];
  };
  hasTemplate: boolean;
  rows: readonly (TemplateRow | RefusedRow)[];
  paths: readonly PathComparison[];
  decoding: readonly DecodingRow[];
  /** Null where all prompts have one length. */
  padding: Padding | null;
  checks: readonly InspectionCheck[];
}

/**
 * Inspects a model before it trains: how SFT, training and evaluation render prompts for it, what ends a completion, and
 * where another program's prompt differs. Reads everything but the weights, and needs no tensor engine.
 *
 * @example
 * import { inspectModel, writeTinyModel } from 'grpo';
 *
 * const { rows, checks } = inspectModel(await writeTinyModel('models/tiny'), { prompts: ['1+1='] });
 * console.log(rows.length, checks.filter(({ verdict }) => verdict === 'fail'));
 *
 * @param model - a Hugging Face model folder, or `ORG/NAME` of one that `npx grpo fetch` got
 * @throws UserError, FileError, FormatError for a folder that no run could open, and for files that hold no prompt
 */
export function inspectModel(model: string, options: InspectOptions = {}): Inspection {
  refuseUnknown('inspectModel', options, ['prompts', 'paths', 'run']);
  const { prompts, paths = [], run } = options;
  const folder = readModelFolder(modelFolder(model));
  const { tokenizer, template, endSources, generation } = folder;
  const renderer = { tokenizer, template, endIds: endIdsOf(folder), endSources };
  const asked = run ? promptsOf(run.task) : matrixOf(prompts, template !== undefined);
  const { rows, shape, checks } = inspectPrompts(renderer, asked);
  const rendered = rows.filter((row) => 'ids' in row);
  const compared = paths.map((path) =>
    comparePath(renderer, path, { shape, rows: rendered, ...(run && { ask: askOf(run) }) }),
  );
  const decoding = decodingRows(
    run?.config ?? {
      rollout: rolloutSection.parse({}),
      eval: evalSection.parse({}),
      diffusion: diffusionSection.parse({}),
    },
    generation,
    folder.config.diffusion,
  );
  const { bosId, bosToken, padId, padToken, addsBos } = tokenizer;
  const writesBos = bosToken !== undefined && shape?.userHead.startsWith(bosToken);
  return {
    model,
    tokens: {
      bos:
        bosId === undefined
          ? null
          : {
              id: bosId,
              text: bosToken!,
              addedBy: adderOf(addsBos, writesBos === true),
            },
      pad: padId === undefined ? null : { id: padId, text: padToken! },
      ends: endTokens(renderer, shape),
    },
    hasTemplate: template !== undefined,
    rows,
    paths: compared,
    decoding,
    padding:
      paddingOf(
        tokenizer,
        rendered.map(({ ids }) => ids),
      ) ?? null,
    checks: [
      ...checks,
      ...(run ? runChecks(renderer, folder.config.maxPositions, run) : []),
      decodingCheck(decoding),
      ...compared.map((one) => pathCheck(one, renderer)),
    ],
  };
}

const adderOf = (tokenizer: boolean, template: boolean) =>
  tokenizer && template ? 'both' : tokenizer ? 'tokenizer' : template ? 'template' : 'nobody';

const askOf =
  ({ config }: InspectedRun) =>
  (question: string) =>
    asPrompt(question, config.task.system);
