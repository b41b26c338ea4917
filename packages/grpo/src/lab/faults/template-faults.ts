/** The prompt has not the form that the model knows. */

import type { Model } from '../../models/index.js';
import { type Stages, stages as standard } from '../../step/stages.js';
import type { Problem } from '../../tasks/task.js';
import type { Message } from '../../text/message.js';
import { type RenderedPrompt, renderPrompt } from '../../text/render.js';
import { lettersTask, rowOf } from '../letters-task.js';
import type { PlantedFault } from './planted-fault.js';

const SYSTEM = 'Put the letters in order.';

/** A render stage that treats each problem by itself. */
const rendering =
  (render: (model: Model, problem: Problem) => { text: string; ids?: number[] }): Stages['render'] =>
  (model, problems) =>
    problems.map((problem): RenderedPrompt => {
      const { text, ids = model.tokenizer.encode(text) } = render(model, problem);
      return { text, ids, spans: [{ kind: 'prompt', start: 0, end: ids.length }] };
    });

const messagesOf = ({ prompt }: Problem) => prompt as readonly Message[];

const templated = (
  { tokenizer, template }: Model,
  messages: readonly Message[],
  addGenerationPrompt: boolean,
) => template!.render(messages, { addGenerationPrompt, namedTokens: tokenizer.namedTokens });

export const templateFaults: readonly PlantedFault[] = [
  {
    code: 'B01',
    variants: [
      {
        name: 'SFT put the header into the answer',
        run: () => ({ policy: { answerPrefix: '<|assistant|>' } }),
      },
      {
        name: 'SFT knew the user turn only',
        run: () => ({ policy: { answerPrefix: '<|end|><|user|>' } }),
        // The model ends its turn at once: nothing, or a header, is all it says.
        orAs: ['B03', 'B16'],
      },
    ],
  },
  {
    code: 'B03',
    variants: [
      {
        name: 'rendered without it',
        run: () => ({
          stages: {
            render: rendering((model, problem) => ({ text: templated(model, messagesOf(problem), false) })),
          },
        }),
      },
      {
        name: 'cut off on the right with the question’s end',
        run: () => ({
          stages: {
            render: rendering((model, problem) => {
              const { ids } = renderPrompt(model.tokenizer, model.template, problem.prompt);
              const cut = ids.slice(0, 4);
              return { text: model.tokenizer.decode(cut), ids: cut };
            }),
          },
        }),
        orAs: ['B05', 'B09'],
      },
    ],
  },
  {
    code: 'B04',
    variants: [
      {
        name: 'template and tokenizer each add one',
        run: () => ({
          stages: {
            render: rendering((model, problem) => ({
              text: `<bos>${templated(model, messagesOf(problem), true)}`,
            })),
          },
        }),
      },
      {
        name: 'the only one is lost',
        run: () => ({
          stages: {
            render: rendering((model, problem) => {
              const text = templated(model, messagesOf(problem), true);
              return { text, ids: model.tokenizer.encode(text).slice(1) };
            }),
          },
        }),
      },
    ],
  },
  {
    code: 'B05',
    variants: [
      {
        name: 'the render keeps the last message only',
        run: () => ({
          task: lettersTask({ system: SYSTEM }),
          stages: {
            render: rendering((model, problem) => ({
              text: templated(model, messagesOf(problem).slice(-1), true),
            })),
          },
        }),
      },
      {
        name: 'an empty system block in its place',
        run: () => ({
          task: lettersTask({ system: SYSTEM }),
          stages: {
            render: rendering((model, problem) => {
              const rest = messagesOf(problem).slice(-1);
              return { text: templated(model, [{ role: 'system', content: '' }, ...rest], true) };
            }),
          },
        }),
      },
    ],
  },
  {
    code: 'B06',
    variants: [
      {
        name: 'the sampler strips the stop string',
        run: () => ({
          task: lettersTask({ stop: ['.'] }),
          stages: {
            async sample(...args) {
              const groups = await standard.sample(...args);
              return groups.map((group) =>
                group.map((one) => ({ ...one, text: one.text.replace(/\.$/, '') })),
              );
            },
          },
        }),
      },
      {
        name: 'a format that cannot be met, for 20 steps',
        run: () => ({
          steps: 20,
          settings: ['rollout.prompts=2'],
          task: lettersTask({
            rewards: {
              format: (completion) => Number(/^<think>.*<\/think>/.test(completion)),
              right: (completion, { answer }) => Number(completion === answer) + completion.length / 100,
            },
          }),
        }),
        orAs: ['B28'],
      },
    ],
  },
];

/** The question without its conversation. */
export const rawQuestion = (model: Model, problem: Problem): number[] =>
  model.tokenizer.encode(rowOf(problem).question);
