import { listRuns } from './list-runs.js';
import { OpenRuns } from './open-runs.js';
import { readCurves } from './read-curves.js';
import { readReport } from './read-report.js';
import type { RequestName, Requests } from './requests.js';
import { compare } from './steps/compare.js';
import { completion } from './steps/completion.js';
import { loss } from './steps/loss.js';
import { positions } from './steps/positions.js';
import { step } from './steps/step.js';
import { stepWhole } from './steps/step-whole.js';
import { tokenLosses } from './steps/token-losses.js';
import { worstTokens } from './steps/worst-tokens.js';

/** How each request is answered. */
type Answers = {
  [N in RequestName]: (runs: OpenRuns, input: Requests[N]['input']) => Promise<Requests[N]['output']>;
};

const answers: Answers = {
  runs: listRuns,
  curves: readCurves,
  report: readReport,
  step,
  stepWhole,
  completion,
  worstTokens,
  positions,
  loss,
  tokenLosses,
  compare,
  refresh: async (runs, { paths }) => {
    runs.refresh(paths);
    return null;
  },
};

/** Answers what the page asks, from files below some paths. */
export class Studio {
  readonly #runs: OpenRuns;

  constructor(roots: readonly string[]) {
    this.#runs = new OpenRuns(roots);
  }

  /** @throws UserError for what is not there or cannot be read */
  async answer<N extends RequestName>(name: N, input: Requests[N]['input']): Promise<Requests[N]['output']> {
    return answers[name](this.#runs, input);
  }
}
