/** Writes docs/doctor.md: `npm run docs:doctor`. */
import { writeFileSync } from 'node:fs';
import { cataloguePage } from './catalogue.js';

writeFileSync(new URL('../../../../docs/doctor.md', import.meta.url), cataloguePage());
