import type { Completion } from '../../rollout/index.js';
import type { Generated } from '../generation.js';
import type { Answer, Call, Service } from './call.js';
import { ChoiceText, type TextOptions } from './choice-text.js';
import { EventWriter } from './event-writer.js';
import { type Asked, generate, processedLogprob } from './generate.js';
import type { AskedPrompt } from './prompt.js';

/** A drawn token with the log-prob that is told. */
export interface ToldToken {
  id: number;
  logprob: number;
}

/** A part of a choice: all of it, or what a chunk of a stream brings. */
export interface ChoicePart {
  index: number;
  prompt: AskedPrompt;
  /** Whether it begins the choice. */
  isFirst: boolean;
  text: string;
  /** Characters of the choice before this part. */
  offset: number;
  tokens: readonly ToldToken[];
  /** At the end of the choice. */
  end?: { finishReason: string; stopReason: string | number | null; weights: number | undefined };
  promptLogprobs: readonly (number | null)[] | undefined;
}

/** What one of OpenAI's calls makes of choices. */
export interface AnswerForm {
  id: string;
  object: string;
  chunkObject: string;
  choice(part: ChoicePart): object;
  chunkChoice(part: ChoicePart): object;
  /** Fields beside the choices, of the first chunk only where the answer is a stream. */
  beside(generated: Pick<Generated, 'promptLogprobs'>[]): object;
  /** Choices of a chunk before all others. */
  opening?(index: number): object;
}

/** Completions in one of OpenAI's forms, and how they are sent. */
export interface AskedChoices extends Asked {
  text: TextOptions;
  model: string;
  form: AnswerForm;
  stream: boolean;
  /** Whether the stream ends with the numbers of tokens; `continuous` with each chunk. */
  usage: { atEnd: boolean; continuous: boolean };
}

/** Answers with all choices at once, or with a stream of their tokens. */
export async function answerChoices(service: Service, call: Call, asked: AskedChoices): Promise<Answer> {
  const { form, model, prompts } = asked;
  const object = asked.stream ? form.chunkObject : form.object;
  const head = { id: form.id, object, created: Math.floor(Date.now() / 1000), model };
  if (asked.stream) return streamChoices(service, call, asked, head);
  const generated = await generate(service, asked, call.signal);
  const choices = generated.flatMap(({ completions, promptLogprobs }, p) =>
    wholeOr(completions, asked.count).map((completion, i) => {
      const text = new ChoiceText(service.engine.model, asked.text);
      const before = completion.ids.slice(0, -1).map((id) => text.add(id));
      const end = text.end(completion.ids, completion.finishReason);
      return form.choice({
        index: p * asked.count + i,
        prompt: prompts[p]!,
        isFirst: true,
        text: before.join('') + end.text,
        offset: 0,
        tokens: toldTokens(completion, asked),
        end: endOf(completion, end.stopReason),
        promptLogprobs,
      });
    }),
  );
  return {
    ...head,
    choices,
    usage: usageOf(prompts, tokensIn(generated)),
    ...form.beside(generated),
    weight_version: generated[0]!.weightVersion,
  };
}

/** Of a choice, what its stream has told. */
interface Stream {
  text: ChoiceText;
  /** Characters told. */
  offset: number;
  /** Tokens drawn. */
  count: number;
  /** The last token drawn: it is told once it is known whether it ends the choice. */
  last: ToldToken | undefined;
  hasBegun: boolean;
}

async function streamChoices(
  service: Service,
  call: Call,
  asked: AskedChoices,
  head: object,
): Promise<undefined> {
  const { form, prompts, count } = asked;
  const events = new EventWriter(call.response);
  const streams = Array.from(
    { length: prompts.length * count },
    (): Stream => ({
      text: new ChoiceText(service.engine.model, asked.text),
      offset: 0,
      count: 0,
      last: undefined,
      hasBegun: false,
    }),
  );
  const tell = (index: number, part: Pick<ChoicePart, 'text' | 'tokens' | 'end' | 'promptLogprobs'>) => {
    const stream = streams[index]!;
    const prompt = prompts[Math.floor(index / count)]!;
    if (!stream.hasBegun && form.opening)
      events.send({ ...head, choices: [form.opening(index)], ...form.beside([]) });
    const choice = { ...part, index, prompt, isFirst: !stream.hasBegun, offset: stream.offset };
    const usage = asked.usage.continuous && { usage: usageOf([prompt], stream.count) };
    events.send({ ...head, choices: [form.chunkChoice(choice)], ...usage });
    stream.hasBegun = true;
    stream.offset += part.text.length;
  };
  try {
    const generated = await generate(service, asked, call.signal, (p, i, token) => {
      const index = p * count + i;
      const stream = streams[index]!;
      const { last } = stream;
      stream.last = { id: token.id, logprob: processedLogprob(token, asked.options) };
      stream.count++;
      if (last) tell(index, { text: stream.text.add(last.id), tokens: [last], promptLogprobs: undefined });
    });
    for (const [p, { completions, promptLogprobs }] of generated.entries())
      for (const [i, completion] of wholeOr(completions, count).entries()) {
        const index = p * count + i;
        const { text, last } = streams[index]!;
        const end = text.end(completion.ids, completion.finishReason);
        tell(index, {
          text: end.text,
          tokens: last ? [last] : [],
          end: endOf(completion, end.stopReason),
          promptLogprobs,
        });
      }
    const version = { weight_version: generated[0]!.weightVersion };
    if (asked.usage.atEnd)
      events.send({ ...head, choices: [], usage: usageOf(prompts, tokensIn(generated)), ...version });
  } catch (error) {
    // Nobody is there to hear it.
    if (call.signal.aborted) return undefined;
    events.fail(error);
  }
  events.end();
  return undefined;
}

const NOTHING: Completion = {
  ids: [],
  text: '',
  finishReason: 'length',
  logprobs: new Float32Array(),
  sampledLogprobs: new Float32Array(),
};

/** Where nothing was to be drawn, choices without a token. */
const wholeOr = (completions: readonly Completion[], count: number): readonly Completion[] =>
  completions.length > 0 ? completions : Array<Completion>(count).fill(NOTHING);

const toldTokens = ({ ids, logprobs, sampledLogprobs }: Completion, { options }: Asked): ToldToken[] =>
  ids.map((id, t) => ({
    id,
    logprob: processedLogprob({ logprob: logprobs[t]!, sampledLogprob: sampledLogprobs[t]! }, options),
  }));

const endOf = ({ finishReason, weights }: Completion, stopReason: string | number | null) => ({
  finishReason,
  stopReason,
  weights,
});

const tokensIn = (generated: readonly Generated[]): number =>
  generated.flatMap(({ completions }) => completions).reduce((sum, { ids }) => sum + ids.length, 0);

function usageOf(prompts: readonly AskedPrompt[], completion_tokens: number): object {
  const prompt_tokens = prompts.reduce((sum, { ids }) => sum + ids.length, 0);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}
