import type { Tensor } from '@grpo/torch';
import { UserError } from '../../errors/user-error.js';
import { checksumOf, weightsChecksum } from '../../models/index.js';
import { together } from '../../step/peers/together.js';
import type { GrpoTrainer } from '../grpo-trainer.js';
import type { RunPeers } from './run-peers.js';

/**
 * Gives each process the weights, optimizer and reference of rank 0.
 *
 * @throws UserError that names the rank whose model is another one
 */
export async function shareState(peers: RunPeers, trainer: GrpoTrainer): Promise<void> {
  const tensors = stateOf(trainer);
  const shapes = [...tensors].map(([name, tensor]) => `${name} ${tensor.dtype}[${tensor.shape}]`);
  requireEqual(await together(peers, () => shapes), 'tensors');
  await peers.broadcast([...tensors.values()]);
  // What was broadcast is already in place.
  trainer.movingReference?.restore(() => {});
  const sums = await together(peers, () => [...checksumsOf(trainer)]);
  requireEqual(sums, 'weights');
}

/** The tensors of a run that its steps change, and those of a reference, by name. */
function stateOf({ model, optimizer, reference, movingReference }: GrpoTrainer): Map<string, Tensor> {
  const named = (of: string, tensors: ReadonlyMap<string, Tensor> = new Map()) =>
    [...tensors].map(([name, tensor]) => [`${of} ${name}`, tensor] as const);
  return new Map([
    ...named('policy', model.decoder.trainable),
    ...named('optimizer', optimizer.state()),
    ...named('reference', reference?.trainable),
    ...named('moving reference', movingReference?.masters),
  ]);
}

/** Of all weights, those that are not trained included. */
function* checksumsOf({ model, optimizer, reference }: GrpoTrainer): Generator<string> {
  yield `policy ${weightsChecksum(model.decoder)}`;
  yield `optimizer ${checksumOf(optimizer.state().values())}`;
  if (reference) yield `reference ${weightsChecksum(reference)}`;
}

/** @throws UserError for the first rank whose list differs from that of rank 0 */
function requireEqual(lists: readonly (readonly string[])[], what: string): void {
  const [first, ...others] = lists;
  for (const [i, list] of others.entries()) {
    const place = Array.from({ length: Math.max(list.length, first!.length) }, (_, n) => n).find(
      (n) => list[n] !== first![n],
    );
    if (place === undefined) continue;
    throw new UserError(
      `rank ${i + 1} has other ${what} than rank 0: ${list[place] ?? 'nothing'}, not ${first![place] ?? 'nothing'}`,
      { hint: 'All processes need the same model: look at the files of model on the machine of that rank.' },
    );
  }
}
