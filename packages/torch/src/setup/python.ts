import { inspectLayout, isAtLeast, type Layout, type Missing } from './layout.js';
import { lastLine, run } from './run.js';

/** Older wheels than this are not taken unasked; `LIBTORCH` may still name one. */
export const oldestWheel = '2.4';

const question =
  'import json, os, torch; print(json.dumps([torch.__version__, os.path.dirname(torch.__file__)]))';

/** The PyTorch that `python3` imports. Importing it takes seconds, so the answer is kept in the build record. */
export async function findPythonTorch(): Promise<Layout | Missing> {
  // Runs in the root folder: Python would take a folder named torch in the current one for the module.
  const { code, output } = await run('python3', ['-c', question], { cwd: '/' });
  if (code === null) return { why: 'there is no python3' };
  if (code !== 0) return { why: `python3 cannot import torch (${lastLine(output)})` };
  const [version, root] = JSON.parse(lastLine(output)) as [string, string];
  if (!isAtLeast(version, oldestWheel))
    return { why: `python3 has torch ${version}, older than ${oldestWheel}` };
  return inspectLayout(root);
}
