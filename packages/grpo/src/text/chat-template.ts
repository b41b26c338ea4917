import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FormatError } from '../errors/format-error.js';
import { UserError } from '../errors/user-error.js';
import { isObject, readJsonObject } from '../formats/json.js';
import { readWhole } from '../formats/read-file.js';
import { decodeUtf8 } from '../formats/utf8.js';
import { JinjaTemplate } from './jinja/jinja-template.js';
import type { Message } from './message.js';

/** A hundred times the longest templates. */
const MAX_BYTES = 2 ** 22;

/**
 * Variables of a template besides the messages. Values are text, numbers, booleans, null, arrays, and plain objects or
 * Maps. JavaScript has no 1.0: where a template prints a number, it prints 1.
 */
export interface TemplateOptions {
  /** Tools as JSON schemas; an empty list is the same as none. */
  tools?: readonly unknown[];
  /** Variables of the template itself, such as `enable_thinking` or `date_string`. */
  variables?: Readonly<Record<string, unknown>>;
  /** The time that a template which writes the date tells; the time of the call when left out. */
  now?: Date;
}

/** A model's chat template: Jinja, rendered as transformers renders it. */
export class ChatTemplate {
  readonly #template: JinjaTemplate;

  /**
   * @param source the Jinja text.
   * @param origin the file it came from, for messages.
   * @throws FormatError when it is not a valid template.
   */
  constructor(
    readonly source: string,
    readonly origin = 'the model',
  ) {
    try {
      this.#template = new JinjaTemplate(source);
    } catch (cause) {
      throw new FormatError(origin, `the chat template cannot be parsed: ${reason(cause)}`, { cause });
    }
  }

  /**
   * The template of a model folder: `chat_template.jinja`, or else `chat_template` of `tokenizer_config.json`
   * (of a list of named ones, `default`).
   * @returns undefined when the folder has none, as base models do.
   */
  static load(dir: string): ChatTemplate | undefined {
    const templateFile = join(dir, 'chat_template.jinja');
    if (existsSync(templateFile))
      return new ChatTemplate(
        decodeUtf8(
          templateFile,
          'the chat template',
          readWhole(templateFile, 'the chat template', MAX_BYTES),
        ),
        templateFile,
      );
    const file = join(dir, 'tokenizer_config.json');
    if (!existsSync(file)) return undefined;
    const found = readJsonObject(file, 'the tokenizer configuration').chat_template ?? undefined;
    if (found === undefined) return undefined;
    return new ChatTemplate(typeof found === 'string' ? found : defaultOf(found, file), file);
  }

  /**
   * The text of a conversation.
   * @param options.addGenerationPrompt end with the header of an assistant's turn.
   * @param options.namedTokens tokens that the template knows as `bos_token`, `eos_token`, …
   * @throws UserError when the template refuses the conversation (`raise_exception`) or fails.
   */
  render(
    messages: readonly Message[],
    options: TemplateOptions & {
      addGenerationPrompt: boolean;
      namedTokens?: Readonly<Record<string, string | undefined>>;
    },
  ): string {
    if (messages.length === 0) throw new UserError('a conversation needs at least one message, found none');
    for (const [i, { role, content }] of messages.entries()) {
      if (typeof content === 'string') continue;
      throw new UserError(
        `message ${i + 1} (${role}): content must be text, found ${JSON.stringify(content)}`,
      );
    }
    const own = {
      messages,
      // Always defined, as in transformers; null when there are none.
      tools: options.tools?.length ? options.tools : null,
      documents: null,
      add_generation_prompt: options.addGenerationPrompt,
    };
    const clash = Object.keys(options.variables ?? {}).find((name) => name in own && name !== 'documents');
    if (clash !== undefined)
      throw new UserError(`the template variable ${clash} is set by the renderer itself`);
    try {
      return this.#template.render({ ...own, ...options.namedTokens, ...options.variables }, options.now);
    } catch (cause) {
      const roles = messages.map((message) => message.role).join(', ');
      throw new UserError(
        `the chat template of ${this.origin} cannot render this conversation: ${reason(cause)}`,
        {
          hint: `the roles of its messages: ${roles}`,
          cause,
        },
      );
    }
  }
}

function defaultOf(found: unknown, file: string): string {
  const named = Array.isArray(found) ? found.filter(isObject) : [];
  const template = named.find((entry) => entry.name === 'default')?.template;
  if (typeof template === 'string') return template;
  const names = named.map((entry) => entry.name).join(', ') || 'none';
  throw new FormatError(
    file,
    `chat_template must be text or a list of {name, template} with a "default"; names found: ${names}`,
  );
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
