import type { OpenRuns } from '../open-runs.js';
import type { Requests, TokenLosses } from '../requests.js';
import { sharesOf, type TokenShares } from './loss-shares.js';
import { completionsOf, trainedRows } from './trained-rows.js';
import { replayOf } from './with-terms.js';

/** The share of each token of a completion in the loss of an update, as recorded and with other settings. */
export async function tokenLosses(
  runs: OpenRuns,
  input: Requests['tokenLosses']['input'],
): Promise<TokenLosses> {
  const { update: u = 0, index } = input;
  const own = await completionsOf(runs, input, [index]);
  const shares = (settings?: ReturnType<typeof replayOf>): TokenShares => {
    const rows = trainedRows(own, u, settings);
    const row = rows?.members.indexOf(index) ?? -1;
    return rows && row >= 0 ? sharesOf(rows.record, rows.update, rows.entropyWeights)(row) : {};
  };
  const settings = replayOf(input);
  return { ...shares(), ...(settings && { hypothetical: shares(settings) }) };
}
