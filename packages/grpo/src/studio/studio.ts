import type { RequestName, Requests } from './requests.js';

/** How each request is answered. */
type Answers = { [N in RequestName]: (input: Requests[N]['input']) => Promise<Requests[N]['output']> };

/** Answers what the page asks, from files below some paths. */
export class Studio {
  readonly #answers: Answers;

  constructor(readonly roots: readonly string[]) {
    const unanswered = async () => {
      throw new Error('not answered yet');
    };
    this.#answers = {
      runs: unanswered,
      curves: unanswered,
      report: unanswered,
      step: unanswered,
      stepWhole: unanswered,
      completion: unanswered,
      worstTokens: unanswered,
      positions: unanswered,
      loss: unanswered,
      compare: unanswered,
      refresh: async () => null,
    };
  }

  /** @throws UserError for what is not there or cannot be read */
  async answer<N extends RequestName>(name: N, input: Requests[N]['input']): Promise<Requests[N]['output']> {
    return this.#answers[name](input);
  }
}
