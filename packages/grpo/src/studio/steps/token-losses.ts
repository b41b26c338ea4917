import { replayRecord } from '../../view/replay-record.js';
import type { OpenRuns } from '../open-runs.js';
import type { Requests, TokenLosses } from '../requests.js';
import { completionRecordOf, completionUpdateOf } from './completion-record.js';
import { sharesOf } from './loss-shares.js';
import { replayOf } from './with-terms.js';

/** The share of each token of a completion in the loss of an update, as recorded and with other settings. */
export async function tokenLosses(
  runs: OpenRuns,
  input: Requests['tokenLosses']['input'],
): Promise<TokenLosses> {
  const { update: u = 0 } = input;
  const own = await completionRecordOf(runs, input);
  const trained = completionUpdateOf(own, u);
  if (!trained) return {};
  const { record, update, row, entropyWeights } = trained;
  const shares = sharesOf(record, update, entropyWeights)(row);
  const settings = replayOf(input);
  if (!settings) return shares;
  const replayed = replayRecord(own.record, settings);
  const other = { ...replayed.updates![u]!, ...weightsIn(update) };
  return { ...shares, hypothetical: sharesOf(replayed, other, entropyWeights)(row) };
}

/** Weights do not depend on clip range and β. */
const weightsIn = ({ weights, klWeights }: { weights?: Float32Array; klWeights?: Float32Array }) => ({
  ...(weights && { weights }),
  ...((klWeights ?? weights) && { klWeights: (klWeights ?? weights)! }),
});
