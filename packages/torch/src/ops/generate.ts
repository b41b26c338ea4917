/** `npm run ops`: writes `generated/ops.ts` from the list and the schemas of the libtorch at hand. */
import { writeFileSync } from 'node:fs';
import { resolveOperator } from '../dispatch.js';
import { torchVersion } from '../runtime.js';
import { renderOperators } from './render.js';

// Beside the sources, from wherever the compiled script runs.
const file = new URL('../../src/generated/ops.ts', import.meta.url);
writeFileSync(file, renderOperators(resolveOperator, torchVersion()));
