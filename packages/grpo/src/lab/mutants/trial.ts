/**
 * A process that tries one configuration, clean or with a mutant in place of one of its files: `node trial.js REQUEST`,
 * a JSON file. The mutant is put in place before anything else is imported.
 */
import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import type { TrialRequest } from './trial-runs.js';

const request = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as TrialRequest;
if (request.mutant) register('./replace-source.js', import.meta.url, { data: request.mutant });
const { runTrial } = await import('./trial-runs.js');
await runTrial(request);
