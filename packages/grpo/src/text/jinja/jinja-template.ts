import { globalsAt } from './globals.js';
import type { Node } from './nodes.js';
import { parseTemplate } from './parse-template.js';
import { Scope } from './scope.js';
import { type Output, renderNodes } from './statements.js';
import { symbolsOf } from './symbols.js';
import { toValue } from './values.js';

/**
 * A Jinja template, rendered as Python's Jinja does it with the settings of transformers: the same text, or an error.
 * The library reads the tags; what they mean is done here, because its own meaning differs from Python's in more
 * places than could be mended from outside. What is not supported is refused by name.
 */
export class JinjaTemplate {
  readonly #body: readonly Node[];

  /** @throws Error when the source is no template. */
  constructor(source: string) {
    this.#body = parseTemplate(source);
  }

  /**
   * @param now the time that `strftime_now` tells.
   * @throws Error with the line when the template refuses, fails or uses a feature that is not supported.
   */
  render(variables: Readonly<Record<string, unknown>>, now = new Date()): string {
    const globals = new Scope();
    for (const each of globalsAt(now)) globals.set(each.name, each);
    for (const [name, value] of Object.entries(variables)) globals.set(name, toValue(value));
    const out: Output = { text: '', position: { line: 1 } };
    try {
      return renderNodes(this.#body, new Scope(globals).enter(symbolsOf(this.#body)), out);
    } catch (cause) {
      if (!(cause instanceof Error)) throw cause;
      throw new Error(`${cause.message} (line ${out.position.line} of the template)`, { cause });
    }
  }
}
