import { checkOf } from '../doctor/registry.js';
import { UserError } from '../errors/user-error.js';
import { RECORD_VERSION, type ServerRecord, type StepRecord } from '../trace/index.js';
import type { ServerAccess } from './dialect.js';
import { preflightServer, type Wanted } from './preflight.js';
import { WeightProbes } from './weight-probe.js';

/** A server samples by other weights than it was given. Nothing that it sampled is trained on. */
export class WrongWeightsError extends UserError {}

/** What is said of a server's probe, in the order of diagnosis. */
const CHECKS = ['B55.probe', 'B65.probe'] as const;

/**
 * Looks at each server before it samples: whether it can serve the run at all, the first time and whenever it says other
 * things of itself; and after each hand-over whether it has the weights.
 */
export class Inspection {
  readonly #probes: WeightProbes;
  readonly #records = new Map<string, ServerRecord>();
  /** What servers said of themselves when they were last found fit. */
  readonly #fit = new Map<string, string>();

  /** @param note - is told warnings */
  constructor(
    private readonly wanted: Wanted,
    private readonly note: (text: string) => void,
  ) {
    const { model, prompt, maxNewTokens, seed, truncation } = wanted;
    const length = prompt.length + maxNewTokens;
    this.#probes = new WeightProbes(model, prompt, length, seed, truncation !== undefined);
  }

  /** The servers that were looked at, for the record of a step. */
  get records(): readonly ServerRecord[] {
    return [...this.#records.values()];
  }

  /** The model has new weights, which are to be handed over. */
  published(version: string): Promise<void> {
    return this.#probes.published(version);
  }

  /** @throws UserError: the server cannot serve the run; WrongWeightsError; what the dialect throws */
  async look(access: ServerAccess): Promise<void> {
    const { server, facts } = access;
    const { adapters: _, weightVersion: __, ...lasting } = facts;
    const said = JSON.stringify(lasting);
    if (this.#fit.get(server.name) !== said) {
      for (const warning of await preflightServer(access, this.wanted)) this.note(warning);
      this.#fit.set(server.name, said);
    }
    const probe = await this.#probes.take(access);
    const { software, dtype, isGrpo: isOwnEngine } = facts;
    const record: ServerRecord = { name: server.name, software, isOwnEngine, ...(dtype && { dtype }), probe };
    this.#records.set(server.name, record);
    requireWeights(record);
  }
}

function requireWeights(server: ServerRecord): void {
  const record: StepRecord = {
    format: 'grpo-step',
    version: RECORD_VERSION,
    step: 0,
    producer: { name: 'grpo' },
    servers: [server],
  };
  for (const code of CHECKS) {
    const check = checkOf(code);
    const outcome = check.scope === 'step' ? check.test(record) : undefined;
    if (outcome?.verdict === 'fail')
      throw new WrongWeightsError(check.says(outcome.measured), { hint: check.remedy });
  }
}
