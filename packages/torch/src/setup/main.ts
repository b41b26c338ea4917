/** The command that `./setup` ends with: `node dist/setup/main.js`. */
import { SetupError, setup } from './index.js';

try {
  await setup();
} catch (error) {
  // Anything else is a fault of this program and keeps its stack.
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
