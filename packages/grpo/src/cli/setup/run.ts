import { setup } from '@grpo/torch/setup';

/** `grpo setup`: gets libtorch and builds the addon, for this package and this Node. */
export async function run(): Promise<number> {
  const { libtorch, addon } = await setup();
  process.stdout.write(`libtorch ${libtorch.version}: ${libtorch.root}\naddon: ${addon}\n`);
  return 0;
}
